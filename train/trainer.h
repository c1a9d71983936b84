// A run from its configuration to its record: search, stages and test. On a CPU with a fixed number
// of threads, a run is a pure function of its configuration and data: interrupted and resumed, it
// ends in the same weights and the same record, bit for bit.
#ifndef LRA_TRAIN_TRAINER_H_
#define LRA_TRAIN_TRAINER_H_

#include <string>

#include "absl/status/statusor.h"
#include "eval/run_record.pb.h"
#include "run_folder/checkpoint_state.pb.h"
#include "train/interruption.h"  // IWYU pragma: export
#include "train/request.h"

namespace lra {

// Searches for a learning rate and pretrains where the configuration says so, trains (or goes on
// with any of these), tests the selected checkpoint, and writes record and predictions into the run
// folder. Returns the errors of OpenRun, PlanStage and TrainStage (train/loop.h). After Cancelled,
// --resume goes on. The record of a finished run is returned as it is; InvalidArgument where it is
// of another configuration or other data. A run that diverges gets a record that says so, and its
// error is returned, also when it is resumed.
absl::StatusOr<RunRecord> TrainRun(const TrainRequest& request);

// Trains without a search, without a look at the test split and without a record, and returns the
// state that training ended in.
absl::StatusOr<CheckpointState> TrainToEnd(const TrainRequest& request);
// Does what TrainRun() does for the configured learning rate, whatever config.search says.
absl::StatusOr<RunRecord> TrainAndTest(const TrainRequest& request);

}  // namespace lra

#endif  // LRA_TRAIN_TRAINER_H_
