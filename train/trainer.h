// The training loop. On a CPU with a fixed number of threads a run is a pure function of its
// configuration and data: interrupted and resumed, it ends in the same weights and the same record,
// bit for bit.
#ifndef LRA_TRAIN_TRAINER_H_
#define LRA_TRAIN_TRAINER_H_

#include "absl/status/statusor.h"
#include "eval/run_record.pb.h"
#include "train/run.h"

namespace lra {

// Trains (or goes on training), tests the selected checkpoint, writes record and predictions into
// the run folder. Internal with step, loss, examples and the first tensor that went bad when the
// loss or the gradient is not finite (the last checkpoint stays). Cancelled after SIGINT or
// SIGTERM: the state is saved, --resume goes on. A file that cannot be written (a full disk) ends
// training and names the checkpoint that is whole. A finished run is returned as it is.
absl::StatusOr<RunRecord> TrainRun(const TrainRequest& request);

// The same without a look at the test split and without a record: the state that training ended in.
absl::StatusOr<CheckpointState> TrainToEnd(const TrainRequest& request);
// TrainRun for one learning rate, whatever config.search says.
absl::StatusOr<RunRecord> TrainAndTest(const TrainRequest& request);

// Asks the loop to save and stop after the current step; safe in a signal handler.
void RequestStop();
bool StopRequested();
// Whether RequestSave() was called since the last time.
bool TakeSaveRequest();
// Asks the loop to save after the current step and to go on; safe in a signal handler.
void RequestSave();

}  // namespace lra

#endif  // LRA_TRAIN_TRAINER_H_
