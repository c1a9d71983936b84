// Tuning with an equal budget: every method gets the same number of trials. Each is a complete
// training run with one learning rate; the best on validation is kept and tested once.
#ifndef LRA_TRAIN_SEARCH_H_
#define LRA_TRAIN_SEARCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "eval/run_record.pb.h"
#include "train/run.h"

namespace lra {

// Trials are in TrialFolder() and never look at the test split. The checkpoints of the best one are
// copied to RUN, where it is tested and recorded with all trials. A trial that diverges counts as
// lost; if all do, the run has diverged, and its record says so. Other errors are those of
// TrainRun. A search that was killed and resumed continues with the trial that was in work.
absl::StatusOr<RunRecord> SearchRun(const TrainRequest& request);

}  // namespace lra

#endif  // LRA_TRAIN_SEARCH_H_
