// Tuning with an equal budget: the same number of trials for every method, each a whole training
// with one learning rate; the best on validation is kept and tested once.
#ifndef LRA_TRAIN_SEARCH_H_
#define LRA_TRAIN_SEARCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "eval/run_record.pb.h"
#include "train/run.h"

namespace lra {

// Of a trial, in the run's folder: "trials/lr-0.001".
std::string TrialFolder(float learning_rate);

// Trials stand in TrialFolder(), without a look at the test split; the winner's checkpoints
// are copied to RUN, where it is tested and recorded with all trials. A trial that diverges counts
// as lost; Internal when all do. Other errors: those of TrainRun. Killed and resumed, it goes on
// with the trial that it was at.
absl::StatusOr<RunRecord> SearchRun(const TrainRequest& request);

}  // namespace lra

#endif  // LRA_TRAIN_SEARCH_H_
