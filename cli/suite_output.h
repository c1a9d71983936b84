// What the subcommands that train suites print, and how a suite is judged.
#ifndef LRA_CLI_SUITE_OUTPUT_H_
#define LRA_CLI_SUITE_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/command.h"
#include "suite/executor.h"
#include "suite/run_suite.h"
#include "suite/state.h"

namespace lra {

// The plan, how many runs were copied from other suites, and what the executor would do besides.
// The errors of Executor::Preview.
absl::Status PrintSuitePlan(const PlannedSuite& planned, int reused, Executor* executor,
                            const CommandContext& context);

// Aborted where a cell could not be measured though its data is there: it would fail as it is
// trained, too.
absl::Status JudgePlan(const PlannedSuite& planned, const SuiteRunOptions& options);

// How far the runs are.
void PrintSuiteStatuses(const std::vector<SuiteCell>& cells,
                        const std::vector<CellStatus>& statuses, const CommandContext& context);

// An error where a run has no result and none is queued, so that scripts need not read the text; it
// says what to do.
absl::Status JudgeSuite(const std::string& out, const std::vector<CellStatus>& statuses);

}  // namespace lra

#endif  // LRA_CLI_SUITE_OUTPUT_H_
