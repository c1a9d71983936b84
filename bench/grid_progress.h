// How much of a named grid is on record.
#ifndef LRA_BENCH_GRID_PROGRESS_H_
#define LRA_BENCH_GRID_PROGRESS_H_

#include <string>

#include "absl/status/statusor.h"

namespace lra {

struct GridProgress {
  int measured = 0;  // cells with a result, also one that says why there is no time
  int cells = 0;
};

// Counts the cells of a file of configs/efficiency/ that the record file has, whichever machine,
// threads and kernels they are of; one that failed is none, and a file that is not there has none.
// Errors: those of the grid's file and of ReadRecordFile.
absl::StatusOr<GridProgress> ProgressOfGrid(const std::string& grid, const std::string& records);

}  // namespace lra

#endif  // LRA_BENCH_GRID_PROGRESS_H_
