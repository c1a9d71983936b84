// Runs without a record, for those who count runs: what their checkpoints say of them.
#ifndef LRA_RUN_FOLDER_STOPPED_RUNS_H_
#define LRA_RUN_FOLDER_STOPPED_RUNS_H_

#include "absl/status/status.h"
#include "eval/run_record.h"

namespace lra {

// Takes the unfinished runs of `found` whose folders say which run they are. One that was killed or
// is still going joins `stopped`, and its folder stays among the unfinished. A run that diverged
// has a record; one of an older version, which left a message instead (kOldFailureFile), joins the
// runs with the record that it would have. A folder without a checkpoint stays as it is. The errors
// of ReadRunFolder.
absl::Status AddStoppedRuns(FoundRuns* found);

}  // namespace lra

#endif  // LRA_RUN_FOLDER_STOPPED_RUNS_H_
