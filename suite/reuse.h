// Runs of other suites that are runs of this one, too: trained once, they count for both.
#ifndef LRA_SUITE_REUSE_H_
#define LRA_SUITE_REUSE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "suite/cells.h"

namespace lra {

struct ReusableRun {
  SuiteCell cell;
  std::string directory;  // the run's folder in the other suite
};

// The cells that OUT has nothing of and that one of `folders`, or a folder directly in one of them,
// holds finished or diverged: with the same settings, seed and data (ReadCellStatus), under the
// cell's name or, where none has that, any other. The first place counts. NotFound for a folder
// that is not there.
absl::StatusOr<std::vector<ReusableRun>> FindReusableRuns(const std::vector<std::string>& folders,
                                                          const std::string& out,
                                                          const std::vector<SuiteCell>& cells);

// Copies the run's folder to OUT/NAME (CopyFolder). False where something is there meanwhile, which
// then is the run.
absl::StatusOr<bool> TakeRun(const ReusableRun& run, const std::string& out);

}  // namespace lra

#endif  // LRA_SUITE_REUSE_H_
