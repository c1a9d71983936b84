#include "train/optimizer.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "lra/check.h"

namespace lra {

AdamW::AdamW(const OptimizerConfig& config, const ParameterStore& parameters)
    : config_(config), groups_(2) {
  groups_[0].weight_decay = config.weight_decay();
  for (const Parameter& parameter : parameters.parameters()) {
    const bool decays =
        config.decay_scope() == OptimizerConfig::ALL_PARAMETERS || parameter.is_matrix;
    Group& group = groups_[decays ? 0 : 1];
    group.names.push_back(parameter.name);
    group.values.push_back(parameter.value);
    group.first_moments.push_back(at::zeros_like(parameter.value.detach()));
    group.second_moments.push_back(at::zeros_like(parameter.value.detach()));
    group.steps.push_back(at::zeros({}, at::kFloat));
  }
}

void AdamW::ZeroGradients() {
  for (Group& group : groups_) {
    for (at::Tensor& value : group.values) value.mutable_grad() = at::Tensor();
  }
}

double AdamW::ClipGradients() {
  double sum_of_squares = 0;
  for (const Group& group : groups_) {
    for (size_t i = 0; i < group.values.size(); ++i) {
      LRA_CHECK(group.values[i].grad().defined()) << group.names[i] << " got no gradient";
      const double norm = at::linalg_vector_norm(group.values[i].grad()).item<double>();
      sum_of_squares += norm * norm;
    }
  }
  const double norm = std::sqrt(sum_of_squares);
  if (!std::isfinite(norm) || config_.clip_norm() <= 0 || norm <= config_.clip_norm()) return norm;
  for (Group& group : groups_) {
    for (at::Tensor& value : group.values) value.mutable_grad().mul_(config_.clip_norm() / norm);
  }
  return norm;
}

void AdamW::Update(Group& group, const ScheduleValue& schedule) {
  if (group.values.empty()) return;
  std::vector<at::Tensor> gradients;
  for (size_t i = 0; i < group.values.size(); ++i) {
    gradients.push_back(group.values[i].grad());
    group.steps[i].add_(1);
  }
  at::_fused_adamw_(group.values, gradients, group.first_moments, group.second_moments,
                    /*max_exp_avg_sqs=*/{}, group.steps, schedule.learning_rate, schedule.beta1,
                    config_.beta2(), group.weight_decay, config_.epsilon(), /*amsgrad=*/false,
                    /*maximize=*/false);
}

double AdamW::Step(const ScheduleValue& schedule) {
  c10::NoGradGuard no_grad;
  const double norm = ClipGradients();
  if (!std::isfinite(norm)) return norm;
  for (Group& group : groups_) Update(group, schedule);
  return norm;
}

std::vector<std::pair<std::string, at::Tensor>> AdamW::State() const {
  std::vector<std::pair<std::string, at::Tensor>> state;
  for (const Group& group : groups_) {
    for (size_t i = 0; i < group.names.size(); ++i) {
      state.emplace_back("exp_avg/" + group.names[i], group.first_moments[i]);
      state.emplace_back("exp_avg_sq/" + group.names[i], group.second_moments[i]);
      state.emplace_back("step/" + group.names[i], group.steps[i]);
    }
  }
  return state;
}

absl::Status AdamW::Restore(const std::vector<std::pair<std::string, at::Tensor>>& state) {
  c10::NoGradGuard no_grad;
  const std::map<std::string, at::Tensor> by_name(state.begin(), state.end());
  for (const auto& [name, own] : State()) {
    auto it = by_name.find(name);
    if (it == by_name.end())
      return absl::DataLossError(absl::StrCat("optimizer state lacks \"", name, "\""));
    if (it->second.sizes() != own.sizes()) {
      return absl::DataLossError(
          absl::StrCat("optimizer state \"", name, "\" has another shape than the model"));
    }
    at::Tensor(own).copy_(it->second);
  }
  return absl::OkStatus();
}

}  // namespace lra
