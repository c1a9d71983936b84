// A run from its configuration to its record: search, stages, test. On a CPU with a fixed number of
// threads a run is a pure function of its configuration and data: interrupted and resumed, it ends
// in the same weights and the same record, bit for bit.
#ifndef LRA_TRAIN_TRAINER_H_
#define LRA_TRAIN_TRAINER_H_

#include "absl/status/statusor.h"
#include "eval/run_record.pb.h"
#include "run_folder/checkpoint_state.pb.h"
#include "train/interruption.h"  // IWYU pragma: export
#include "train/request.h"

namespace lra {

// Pretrains where the configuration says so, trains (or goes on with either), tests the selected
// checkpoint, writes record and predictions into the run folder. The errors of OpenRun, PlanStage
// and TrainStage (train/loop.h); after Cancelled --resume goes on. A finished run is returned as it
// is.
absl::StatusOr<RunRecord> TrainRun(const TrainRequest& request);

// The same without a look at the test split and without a record: the state that training ended in.
absl::StatusOr<CheckpointState> TrainToEnd(const TrainRequest& request);
// TrainRun for one learning rate, whatever config.search says.
absl::StatusOr<RunRecord> TrainAndTest(const TrainRequest& request);

}  // namespace lra

#endif  // LRA_TRAIN_TRAINER_H_
