#include "lra/pretrain_budget.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

std::vector<int64_t> Budgets(const PretrainConfig& pretrain) {
  std::vector<int64_t> examples(pretrain.continued_from_examples().begin(),
                                pretrain.continued_from_examples().end());
  examples.push_back(pretrain.examples());
  return examples;
}

}  // namespace

std::vector<int64_t> PretrainBudgetSteps(const ExperimentConfig& config) {
  if (!config.has_pretrain()) return {};
  if (!config.pretrain().has_examples()) return {config.pretrain().steps()};
  const int64_t batch = std::max(1, config.train().batch_examples());
  std::vector<int64_t> steps;
  for (const int64_t examples : Budgets(config.pretrain()))
    steps.push_back((examples + batch - 1) / batch);
  return steps;
}

int64_t PretrainSteps(const ExperimentConfig& config) {
  const std::vector<int64_t> ends = PretrainBudgetSteps(config);
  return ends.empty() ? 0 : ends.back();
}

absl::Status CheckPretrainBudget(const ExperimentConfig& config) {
  const PretrainConfig& pretrain = config.pretrain();
  if (pretrain.has_steps()) {
    const int64_t batch = config.train().batch_examples();
    return absl::InvalidArgumentError(absl::StrCat(
        "pretrain.steps: the budget of pretraining is given in examples seen now; instead of ",
        pretrain.steps(), " steps of ", batch,
        " examples write pretrain.examples=", pretrain.steps() * batch));
  }
  const std::vector<int64_t> budgets = Budgets(pretrain);
  int64_t before = 0;
  for (const int64_t examples : budgets) {
    if (examples <= before) {
      return absl::InvalidArgumentError(absl::StrCat(
          "pretrain.continued_from_examples: budgets must rise up to pretrain.examples, ",
          pretrain.examples(), "; ", examples, " follows ", before));
    }
    before = examples;
  }
  return absl::OkStatus();
}

PretrainConfig AsBefore(PretrainConfig now, const PretrainConfig& then) {
  if (then.has_until()) now.set_until(then.until());
  const std::vector<int64_t> all = Budgets(now), first = Budgets(then);
  const bool is_start = then.has_examples() && first.size() <= all.size() &&
                        std::equal(first.begin(), first.end(), all.begin());
  if (!is_start) return now;
  now.set_examples(then.examples());
  *now.mutable_continued_from_examples() = then.continued_from_examples();
  return now;
}

}  // namespace lra
