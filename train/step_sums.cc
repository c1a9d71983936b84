#include "train/step_sums.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/curve_values.h"
#include "eval/machine.h"
#include "lra/progress.h"

namespace lra {
namespace {

// How many losses before a failure are kept.
constexpr int kRecentLosses = 8;

void AddClasses(const std::vector<int64_t>& from, google::protobuf::RepeatedField<int64_t>* to) {
  to->Resize(static_cast<int>(from.size()), 0);
  for (size_t i = 0; i < from.size(); ++i) (*to)[static_cast<int>(i)] += from[i];
}

}  // namespace

void CountStep(const StepResult& step, CheckpointState* state) {
  const BatchResult& result = step.batch;
  RunningSums& sums = *state->mutable_sums();
  sums.set_steps(sums.steps() + 1);
  sums.set_examples(sums.examples() + result.guesses);
  sums.set_correct(sums.correct() + result.correct);
  sums.set_loss_sum(sums.loss_sum() + result.loss_sum);
  sums.set_gradient_norm_sum(sums.gradient_norm_sum() + step.gradient_norm);
  sums.set_max_gradient_norm(std::max(sums.max_gradient_norm(), step.gradient_norm));
  sums.set_tokens(sums.tokens() + result.tokens);
  AddClasses(result.labels, sums.mutable_label_examples());
  AddClasses(result.predicted, sums.mutable_predicted_examples());
  auto& recent = *state->mutable_recent_loss();
  recent.Add(result.loss_sum / static_cast<double>(result.guesses));
  if (recent.size() > kRecentLosses) recent.erase(recent.begin());
}

std::string DescribeProgress(const Objective& objective, const CheckpointState& state) {
  const RunningSums& sums = state.sums();
  const Metric* const metric = objective.metrics().front();
  std::string detail;
  if (sums.examples() > 0) {
    detail = absl::StrFormat("loss %.3f", sums.loss_sum() / sums.examples());
    MetricValues values;
    SetValues({&metric, 1}, objective.TrainingSums(sums), &values);
    for (const auto& [name, value] : values)
      absl::StrAppend(&detail, "  ", name, " ", metric->Text(value, -1));
    absl::StrAppend(&detail, objective.Reference(state));
  }
  if (state.best_step() >= 0) {
    absl::StrAppend(&detail, "  best validation ", metric->Text(state.best_validation(), -1));
  }
  absl::StrAppend(&detail, detail.empty() ? "" : "  ", "memory ", FormatBytes(PeakMemoryBytes()));
  return detail;
}

}  // namespace lra
