// When a stage is validated and what that takes: the loop's rule, by which estimates count.
#ifndef LRA_TRAIN_VALIDATIONS_H_
#define LRA_TRAIN_VALIDATIONS_H_

#include <cstdint>

#include "train/objective.h"
#include "train/run.h"

namespace lra {

// Whether the loop validates after this step: every train.eval_every_steps, where a budget of the
// stage ends, and at the step that is kept.
bool IsValidatedAt(const Objective& objective, const TrainConfig& train, int64_t step);

// The validations of a stage that runs to its end.
int64_t CountValidations(const Objective& objective, const TrainConfig& train);

// How many batches an evaluation of the first `limit` examples (0 = all) of a split of this size
// scores; a smaller last one counts as the part that it is.
double EvaluationBatches(const ExperimentConfig& config, int64_t split_examples, int64_t limit);

// The batches that go forward in one validation, those for batch norms' statistics included.
double ValidationBatches(const Run& run, const Objective& objective);

// How many checkpoints are scored in the end: the selected one, and beside it the last, which is
// another in about half the runs.
double CheckpointsScored(const TrainRequest& request);

}  // namespace lra

#endif  // LRA_TRAIN_VALIDATIONS_H_
