// Whether the cells of a suite make models at all, before any of them is measured or trained.
#ifndef LRA_CLI_CHECK_CELLS_H_
#define LRA_CLI_CHECK_CELLS_H_

#include <vector>

#include "absl/status/status.h"
#include "suite/run_suite.h"

namespace lra {

// InvalidArgument, which names each cell with runs that are left and that `lra train` would refuse
// for its configuration, whatever the examples are: an option that does not exist or does not fit,
// a method without what the task or the setting needs, an encoder (of the first seed where each has
// its own) that the model cannot take.
absl::Status CheckCells(const std::vector<SuiteCell>& cells, const SuiteRunOptions& options);

}  // namespace lra

#endif  // LRA_CLI_CHECK_CELLS_H_
