#include "train/validations.h"

#include "datasets/loader.h"
#include "train/batch_statistics.h"

namespace lra {

bool IsValidatedAt(const Objective& objective, const TrainConfig& train, int64_t step) {
  return step % train.eval_every_steps() == 0 || objective.EndsAt(step) ||
         step == objective.kept_step();
}

int64_t CountValidations(const Objective& objective, const TrainConfig& train) {
  int64_t count = 0;
  for (int64_t step = 1; step <= objective.steps(); ++step)
    count += IsValidatedAt(objective, train, step) ? 1 : 0;
  return count;
}

double EvaluationBatches(const ExperimentConfig& config, int64_t split_examples, int64_t limit) {
  const int64_t batch_examples = config.train().batch_examples();
  const int64_t examples =
      EvaluatedExamples(split_examples, batch_examples, limit, config.evaluation().drop_last());
  return static_cast<double>(examples) / static_cast<double>(batch_examples);
}

double ValidationBatches(const Run& run, const Objective& objective) {
  const double scored = EvaluationBatches(run.config(), run.validation.size(),
                                          run.config().train().validation_examples());
  const int64_t measured =
      objective.is_tested() ? MeasuredBatches(run.config(), run.train.size()) : 0;
  return scored + static_cast<double>(measured);
}

double CheckpointsScored(const TrainRequest& request) {
  constexpr double kSelectedAndOftenLast = 1.5;
  return request.skips_last_checkpoint ? 1 : kSelectedAndOftenLast;
}

}  // namespace lra
