// Runs without a record, for those who count runs: what their checkpoints say of them.
#ifndef LRA_RUN_FOLDER_STOPPED_RUNS_H_
#define LRA_RUN_FOLDER_STOPPED_RUNS_H_

#include "absl/status/status.h"
#include "eval/run_record.h"

namespace lra {

// Takes the unfinished runs of `found` whose folders say which run they are. One that diverged
// (kFailureFile) joins the runs, with a record that says so and has no results; any other, killed
// or still going, joins `stopped`, and its folder stays among the unfinished. A folder without a
// checkpoint stays as it is. The errors of ReadRunFolder.
absl::Status AddStoppedRuns(FoundRuns* found);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_STOPPED_RUNS_H_
