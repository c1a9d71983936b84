// The list of runs together with those of suites that left nothing to list yet: `lra runs`.
#ifndef LRA_SUITE_SUITE_RUNS_H_
#define LRA_SUITE_SUITE_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "run_folder/run_list.h"

namespace lra {

// Every run at or below the given folders (ListRuns), and of each suite there the runs that wait or
// failed. Sorted by path. A suite that cannot be read is added to `damaged`. The errors of
// ListRuns.
absl::StatusOr<std::vector<ListedRun>> ListRunsAndSuites(absl::Span<const std::string> paths,
                                                         std::vector<std::string>* damaged);

}  // namespace lra

#endif  // LRA_SUITE_SUITE_RUNS_H_
