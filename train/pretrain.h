// Self-pretraining as a stage of a run: the encoder learns to guess tokens of the training split,
// labels unseen, and the run starts from its weights (Amos et al., "Never Train from Scratch",
// 2023). What it cost is in the record.
#ifndef LRA_TRAIN_PRETRAIN_H_
#define LRA_TRAIN_PRETRAIN_H_

#include "absl/status/status.h"
#include "train/run.h"

namespace lra {

// Pretrains in RUN/pretrain (checkpoints and a curve of its own, resumed exactly), copies what the
// classifier shares into run->model and sets run->state.pretrain. Errors: those of
// TokenObjective::Create, RestoreLatest, PlanStage and TrainStage.
absl::Status Pretrain(Run* run);

}  // namespace lra

#endif  // LRA_TRAIN_PRETRAIN_H_
