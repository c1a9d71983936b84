// Profiles of many runs, with their data opened and, where asked for, their models run on perturbed
// inputs (`lra profile RUNS`).
#ifndef LRA_INSPECT_PROFILE_RUNS_H_
#define LRA_INSPECT_PROFILE_RUNS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/strata.h"
#include "eval/profile_board.h"
#include "eval/published.pb.h"
#include "eval/run_record.h"
#include "inspect/perturbed.h"

namespace lra {

// What the task knows of the examples that a run was scored on, seen as the run saw them. The data
// is `data_dir` or, empty, the task's default.
using StrataOfRun = std::function<absl::StatusOr<std::vector<Strata>>(const RunRecord& run,
                                                                      const std::string& data_dir)>;

struct ProfileRunsRequest {
  std::vector<std::string> runs;     // folders
  std::vector<std::string> methods;  // empty = all
  std::vector<PublishedTable> published;
  StrataOfRun strata_of;
  bool perturbs = false;  // runs that have checkpoints
  // Data, split, threads; and how inputs are perturbed. `checkpoint` is not read.
  PerturbedRequest look;
};

// Boards point into the rest, so that it may be moved, not copied.
struct ProfiledRuns {
  FoundRuns found;
  std::vector<ProfileGroup> groups;
  std::vector<ProfileBoard> boards;
  // What no board shows, with the reason: runs, data that cannot be opened, inputs that cannot be
  // perturbed.
  std::vector<std::string> left_out;
};

// The errors of FindRunRecords and GroupForProfiles; InvalidArgument for data of several kinds
// under one folder; those of strata_of and ScorePerturbed where nothing else could be shown.
absl::StatusOr<ProfiledRuns> ProfileRuns(const ProfileRunsRequest& request);

}  // namespace lra

#endif  // LRA_INSPECT_PROFILE_RUNS_H_
