// Self-pretraining as a stage of a run: the encoder learns to predict tokens of the training split
// without labels, and training with labels starts from its weights (Amos et al., "Never Train from
// Scratch", 2023). Its cost is in the record.
#ifndef LRA_TRAIN_PRETRAIN_H_
#define LRA_TRAIN_PRETRAIN_H_

#include "absl/status/status.h"
#include "lra/config.pb.h"
#include "train/run.h"

namespace lra {

// The run's optimiser as pretraining has it: all layers begin alike, and labels go on from the
// weights that were trained.
OptimizerConfig PretrainOptimizer(OptimizerConfig optimizer);

// Pretrains in RUN/pretrain (with its own checkpoints and curve; resumed exactly), copies the
// parameters that the classifier shares into run->model and sets run->state.pretrain.
// FailedPrecondition, with the loss and the entropy that it had to be below (pretrain.until), if
// the budget ends too early: the stage is kept and can be gone on with. Other errors are those of
// TokenObjective::Create, RestoreLatest, PlanStage and TrainStage.
absl::Status Pretrain(Run* run);

}  // namespace lra

#endif  // LRA_TRAIN_PRETRAIN_H_
