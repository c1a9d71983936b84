#include "train/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_reciprocal.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/config.h"

namespace lra {
namespace {

// The groups in the order in which their gradients' norms are summed: the first three are older
// than records, whose bits depend on it.
enum GroupPlace { kDecays, kDecaysNot, kAtOwnRate, kDecaysAtOwnRate };

bool IsTokenEmbedding(absl::string_view name) {
  return absl::StartsWith(name, "embedding.") && !absl::StartsWith(name, "embedding.position") &&
         !absl::StartsWith(name, "embedding.cls") && !absl::StartsWith(name, "embedding.stem.");
}

double SquaredNorm(const at::Tensor& x) {
  const double norm = at::linalg_vector_norm(x).item<double>();
  return norm * norm;
}

// The L2 norm of all of them, float64 []; sums in float64, as on the CPU.
at::Tensor NormOnDevice(const std::vector<at::Tensor>& tensors) {
  return at::stack(at::_foreach_norm(tensors)).to(at::kDouble).square().sum().sqrt();
}

// Keeps the weights before a step, to measure afterwards how far they moved.
class Movement {
 public:
  void Watch(absl::string_view name, const at::Tensor& value) {
    watched_.push_back({value.detach(), value.detach().clone(), IsTokenEmbedding(name)});
  }
  UpdateRatios Ratios() const {
    double change = 0, weight = 0, embedding_change = 0, embedding_weight = 0;
    for (const Watched& w : watched_) {
      const double moved = SquaredNorm(w.now - w.before), size = SquaredNorm(w.before);
      change += moved, weight += size;
      if (w.is_embedding) embedding_change += moved, embedding_weight += size;
    }
    return {Ratio(change, weight), Ratio(embedding_change, embedding_weight)};
  }

 private:
  struct Watched {
    at::Tensor now, before;
    bool is_embedding;
  };
  static double Ratio(double change, double weight) {
    return weight > 0 ? std::sqrt(change / weight) : 0;
  }
  std::vector<Watched> watched_;
};

}  // namespace

Optimizer::Optimizer(const OptimizerConfig& config, const ParameterStore& parameters)
    : config_(config), groups_(4) {
  FillLegacyValues(&config_);
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (i == kDecays || i == kDecaysAtOwnRate) groups_[i].weight_decay = config_.weight_decay();
    if (i >= kAtOwnRate) groups_[i].max_learning_rate = config_.state_space_learning_rate();
  }
  const int64_t layers = LayerCount(parameters);
  for (const Parameter& parameter : parameters.parameters())
    Add(parameter, GroupFor(UpdateRuleOf(config_, parameter, layers)));
  if (config_.average_decay() > 0) average_.emplace(config_.average_decay(), parameters);
}

// Rates of single layers have groups behind the four.
Optimizer::Group* Optimizer::GroupFor(const UpdateRule& rule) {
  const GroupPlace place = rule.has_own_rate ? (rule.decays ? kDecaysAtOwnRate : kAtOwnRate)
                                             : (rule.decays ? kDecays : kDecaysNot);
  if (rule.rate_scale == 1) return &groups_[place];
  Group wanted;
  wanted.weight_decay = groups_[place].weight_decay;
  wanted.max_learning_rate = groups_[place].max_learning_rate;
  wanted.rate_scale = rule.rate_scale;
  const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group.weight_decay == wanted.weight_decay && group.rate_scale == wanted.rate_scale &&
           group.max_learning_rate == wanted.max_learning_rate;
  });
  if (same != groups_.end()) return &*same;
  groups_.push_back(std::move(wanted));
  return &groups_.back();
}

void Optimizer::Add(const Parameter& parameter, Group* group) const {
  group->names.push_back(parameter.name);
  group->values.push_back(parameter.value);
  group->first_moments.push_back(at::zeros_like(parameter.value.detach()));
  group->second_moments.push_back(at::zeros_like(parameter.value.detach()));
  group->steps.push_back(at::zeros({}, parameter.value.options().requires_grad(false)));
}

void Optimizer::ZeroGradients() {
  for (Group& group : groups_) {
    for (at::Tensor& value : group.values) value.mutable_grad() = at::Tensor();
  }
}

std::vector<at::Tensor> Optimizer::Gradients() const {
  std::vector<at::Tensor> gradients;
  for (const Group& group : groups_) {
    for (size_t i = 0; i < group.values.size(); ++i) {
      LRA_CHECK(group.values[i].grad().defined()) << group.names[i] << " got no gradient";
      gradients.push_back(group.values[i].grad());
    }
  }
  return gradients;
}

double Optimizer::GradientNorm() const {
  const std::vector<at::Tensor> gradients = Gradients();
  if (!gradients[0].is_cpu()) return NormOnDevice(gradients).item<double>();
  double sum_of_squares = 0;
  for (const at::Tensor& gradient : gradients) sum_of_squares += SquaredNorm(gradient);
  return std::sqrt(sum_of_squares);
}

double Optimizer::ClipGradients() {
  const double raw_norm = GradientNorm();
  if (!std::isfinite(raw_norm)) return raw_norm;  // clamping would hide an infinity
  double norm = raw_norm;
  const bool by_parameter = config_.clip_scope() == OptimizerConfig::EACH_PARAMETER;
  if (config_.clip_value() > 0) {
    for (Group& group : groups_) {
      for (at::Tensor& value : group.values) {
        value.mutable_grad().clamp_(-config_.clip_value(), config_.clip_value());
      }
    }
    if (!by_parameter) norm = GradientNorm();
  }
  if (by_parameter) {
    ClipEach();
    return raw_norm;
  }
  if (config_.clip_norm() <= 0 || norm <= config_.clip_norm()) return raw_norm;
  for (Group& group : groups_) {
    for (at::Tensor& value : group.values) value.mutable_grad().mul_(config_.clip_norm() / norm);
  }
  return raw_norm;
}

void Optimizer::ClipEach() {
  if (config_.clip_norm() <= 0) return;
  for (const at::Tensor& gradient : Gradients()) {
    const double norm = std::sqrt(SquaredNorm(gradient));
    if (norm > config_.clip_norm()) gradient.mul_(config_.clip_norm() / norm);
  }
}

void Optimizer::Update(Group& group, const ScheduleValue& schedule) {
  if (group.values.empty()) return;
  std::vector<at::Tensor> gradients;
  for (size_t i = 0; i < group.values.size(); ++i) {
    gradients.push_back(group.values[i].grad());
    group.steps[i].add_(1);
  }
  if (config_.kind() == OptimizerConfig::RADAM) return UpdateRectified(group, schedule);
  Adam(group, gradients, RateOfGroup(group, schedule), schedule.beta1, std::nullopt);
}

double Optimizer::RateOfGroup(const Group& group, const ScheduleValue& schedule) {
  const double rate = group.rate_scale * RateOf(group.max_learning_rate, schedule);
  const bool is_on_host = group.values.empty() || group.values[0].is_cpu();
  return is_on_host ? rate : static_cast<float>(rate);
}

template <class Rate>
void Optimizer::Adam(Group& group, const std::vector<at::Tensor>& gradients, const Rate& rate,
                     double beta1, const std::optional<at::Tensor>& is_void) const {
  const std::optional<at::Tensor> no_scale;
  const auto update = [&](const auto& fused) {
    fused(group.values, gradients, group.first_moments, group.second_moments,
          /*max_exp_avg_sqs=*/at::TensorList(), group.steps, rate, beta1, config_.beta2(),
          group.weight_decay, config_.epsilon(), /*amsgrad=*/false, /*maximize=*/false, no_scale,
          is_void);
  };
  if (config_.decay() == OptimizerConfig::COUPLED) {
    update([](auto&&... all) { at::_fused_adam_(all...); });
  } else {
    update([](auto&&... all) { at::_fused_adamw_(all...); });
  }
}

at::Tensor Optimizer::Rates(const ScheduleValue& schedule) const {
  const bool by_factors = GoesByFactors(schedule);
  const int64_t columns = by_factors ? Factors::kCount : 1;
  const auto rows = static_cast<int64_t>(groups_.size()) + (average_ ? 1 : 0);
  at::Tensor rates = at::zeros({rows, columns}, at::kFloat);
  float* next = rates.mutable_data_ptr<float>();
  for (const Group& group : groups_) {
    if (!by_factors) {
      *next++ = static_cast<float>(RateOfGroup(group, schedule));
      continue;
    }
    for (const double factor : FactorsAt(group, schedule, updates_ + 1).Row())
      *next++ = static_cast<float>(factor);
  }
  if (average_) *next = static_cast<float>(average_->NextShare());
  return by_factors ? rates : rates.squeeze(1);
}

void Optimizer::CountUpdates(int64_t more) {
  updates_ += more;
  if (average_) average_->CountUpdates(more);
}

bool Optimizer::can_step_on_device() const {
  for (const Group& group : groups_) {
    if (!group.values.empty()) return !group.values[0].is_cpu();
  }
  return false;
}

// In place: what repeats this reads it where it was.
void Optimizer::NoteFailure(const at::Tensor& fails) {
  if (!has_failed_.defined()) has_failed_ = at::zeros_like(fails);
  at::maximum_out(has_failed_, has_failed_, fails);
}

at::Tensor Optimizer::StepOnDevice(const ScheduleValue& schedule, const at::Tensor& loss,
                                   const at::Tensor& rates, const StatisticsBefore* before) {
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = Gradients();
  const at::Tensor raw_norm = NormOnDevice(gradients);
  at::Tensor norm = raw_norm;
  if (config_.clip_value() > 0) {
    at::_foreach_clamp_min_(gradients, -config_.clip_value());
    at::_foreach_clamp_max_(gradients, config_.clip_value());
    norm = NormOnDevice(gradients);
  }
  if (config_.clip_scope() == OptimizerConfig::EACH_PARAMETER) {
    ClipEachOnDevice(gradients);
  } else if (config_.clip_norm() > 0) {
    const at::Tensor factor = (config_.clip_norm() / norm).clamp_max_(1);
    at::_foreach_mul_(gradients, factor.to(gradients[0].scalar_type()));
  }
  NoteFailure(raw_norm.isfinite().logical_and_(loss.isfinite()).logical_not_().to(at::kFloat));
  if (before != nullptr) before->RestoreIf(has_failed_);  // an average takes them in
  for (size_t g = 0; g < groups_.size(); ++g) {
    UpdateOnDevice(groups_[g], schedule,
                   rates.defined() ? rates.select(0, static_cast<int64_t>(g)) : at::Tensor());
  }
  if (average_) {
    const auto row = static_cast<int64_t>(groups_.size());
    average_->Add(has_failed_,
                  rates.defined() ? rates.select(0, row).flatten().select(0, 0) : at::Tensor());
  }
  ++updates_;  // at last: a step that throws is none
  return raw_norm;
}

void Optimizer::ClipEachOnDevice(const std::vector<at::Tensor>& gradients) const {
  if (config_.clip_norm() <= 0) return;
  std::vector<at::Tensor> factors = at::_foreach_norm(gradients);
  at::_foreach_reciprocal_(factors);
  at::_foreach_mul_(factors, config_.clip_norm());
  at::_foreach_clamp_max_(factors, 1);
  at::_foreach_mul_(gradients, factors);
}

void Optimizer::UpdateOnDevice(Group& group, const ScheduleValue& schedule,
                               const at::Tensor& rate) {
  if (group.values.empty()) return;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& value : group.values) gradients.push_back(value.grad());
  at::_foreach_add_(group.steps, 1);
  if (GoesByFactors(schedule)) {
    UpdateByFactorsOnDevice(group, std::move(gradients),
                            rate.defined() ? rate : FactorsOnDevice(group, schedule));
  } else if (rate.defined()) {
    Adam(group, gradients, rate, schedule.beta1, has_failed_);
  } else {
    Adam(group, gradients, RateOfGroup(group, schedule), schedule.beta1, has_failed_);
  }
  at::_foreach_sub_(group.steps, std::vector<at::Tensor>(group.steps.size(), has_failed_));
}

double Optimizer::Step(const ScheduleValue& schedule, UpdateRatios* ratios) {
  c10::NoGradGuard no_grad;
  const double norm = ClipGradients();
  if (!std::isfinite(norm)) return norm;
  Movement movement;
  if (ratios != nullptr) {
    for (const Group& group : groups_) {
      for (size_t i = 0; i < group.values.size(); ++i)
        movement.Watch(group.names[i], group.values[i]);
    }
  }
  ++updates_;
  for (Group& group : groups_) Update(group, schedule);
  if (average_) average_->Add();
  if (ratios != nullptr) *ratios = movement.Ratios();
  return norm;
}

std::vector<std::pair<std::string, at::Tensor>> Optimizer::State() const {
  LRA_CHECK(!average_ || average_->is_in_use());
  return Tensors();
}

std::vector<std::pair<std::string, at::Tensor>> Optimizer::Tensors() const {
  std::vector<std::pair<std::string, at::Tensor>> state;
  for (const Group& group : groups_) {
    for (size_t i = 0; i < group.names.size(); ++i) {
      state.emplace_back("exp_avg/" + group.names[i], group.first_moments[i]);
      state.emplace_back("exp_avg_sq/" + group.names[i], group.second_moments[i]);
      state.emplace_back("step/" + group.names[i], group.steps[i]);
    }
  }
  if (!average_) return state;
  for (auto& entry : average_->State()) state.push_back(std::move(entry));
  return state;
}

absl::Status Optimizer::Restore(const std::vector<std::pair<std::string, at::Tensor>>& state) {
  c10::NoGradGuard no_grad;
  const std::map<std::string, at::Tensor> by_name(state.begin(), state.end());
  for (const auto& [name, own] : Tensors()) {
    auto it = by_name.find(name);
    if (it == by_name.end())
      return absl::DataLossError(absl::StrCat("optimizer state lacks \"", name, "\""));
    if (it->second.sizes() != own.sizes()) {
      return absl::DataLossError(
          absl::StrCat("optimizer state \"", name, "\" has another shape than the model"));
    }
    at::Tensor(own).copy_(it->second);
  }
  CountFromSteps();
  if (average_) average_->FinishRestore();
  return absl::OkStatus();
}

void Optimizer::CountFromSteps() {
  for (const Group& group : groups_) {
    if (!group.steps.empty()) updates_ = group.steps[0].item<int64_t>();
  }
}

void Optimizer::BeginAverage() {
  if (average_) average_->Begin();
}

}  // namespace lra
