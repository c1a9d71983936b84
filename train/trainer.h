// The training loop. On a CPU with a fixed number of threads a run is a pure function of its
// configuration and data: interrupted and resumed, it ends in the same weights and the same record,
// bit for bit.
#ifndef LRA_TRAIN_TRAINER_H_
#define LRA_TRAIN_TRAINER_H_

#include <chrono>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datasets/loader.h"
#include "eval/run_record.pb.h"
#include "lra/progress.h"
#include "train/run.h"

namespace lra {

// Trains (or goes on training), tests the selected checkpoint, writes record and predictions into
// the run folder. Internal with step, loss and examples when the loss or the gradient is not finite
// (the last checkpoint stays). Cancelled after SIGINT or SIGTERM: the state is saved, --resume goes
// on. A finished run is returned as it is.
absl::StatusOr<RunRecord> TrainRun(const TrainRequest& request);

// Asks the loop to save and stop after the current step; safe in a signal handler.
void RequestStop();

}  // namespace lra

#endif  // LRA_TRAIN_TRAINER_H_
