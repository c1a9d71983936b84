// The grid of `lra bench efficiency`: which cells, in which order, and what of them is there
// already.
#ifndef LRA_BENCH_GRID_H_
#define LRA_BENCH_GRID_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/bench.pb.h"
#include "bench/cell.h"

namespace lra {

struct GridPlan {
  std::vector<MethodChoice> methods;
  std::vector<int64_t> tokens;
  std::vector<BenchRequest::Scope> scopes;
  std::vector<BenchRequest::Mode> modes;
  std::vector<int64_t> batches;          // fixed batch: one regime each
  std::vector<int64_t> tokens_in_batch;  // fixed tokens, a multiple of each N: B = this / N
  std::vector<bool> paddings;
  std::vector<NumericsConfig::Precision> precisions;
  std::vector<int> head_widths;
  BenchRequest base;  // layers, heads, MLP, threads, kernels, passes, limit, budget
};

// The words of a list flag to its values; InvalidArgument names the flag, the word and the known
// ones.
absl::StatusOr<std::vector<BenchRequest::Scope>> ParseScopes(const std::vector<std::string>& words);
absl::StatusOr<std::vector<BenchRequest::Mode>> ParseModes(const std::vector<std::string>& words);
absl::StatusOr<std::vector<bool>> ParsePaddings(const std::vector<std::string>& words);
absl::StatusOr<std::vector<NumericsConfig::Precision>> ParsePrecisions(
    const std::vector<std::string>& words);

// Every cell, without its result: series after series, lengths increasing. Padding needs more than
// one example, and streaming knows neither padding nor batches of tokens: such cells are left out.
std::vector<BenchRecord> ExpandGrid(const GridPlan& plan);

// Why the next of doubled lengths must not be measured, if time goes on to grow as over the last
// two cells: "about 71 s"; empty if it may.
std::string ExpectedExcess(const std::vector<BenchRecord>& series, double limit_seconds);

struct GridRun {
  BenchMachine machine;
  std::string path;  // of the record file
  bool is_quiet = false;
};

// Measures every cell and gives all of them; `path` is not used.
absl::StatusOr<std::vector<BenchRecord>> MeasureGrid(const GridPlan& plan, const GridRun& grid,
                                                     const CellRunner& run);

// Measures what `path` does not hold yet, and appends each cell as soon as it is there. Within a
// series, lengths above one that was out of memory, refused or skipped get the same outcome without
// being run. Returns how many cells were run.
absl::StatusOr<int> RunGrid(const GridPlan& plan, const GridRun& grid, const CellRunner& run);

// What cells of different lengths must share to lie on one curve.
std::string SeriesKey(const BenchRecord& record);

}  // namespace lra

#endif  // LRA_BENCH_GRID_H_
