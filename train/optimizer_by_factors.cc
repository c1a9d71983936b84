// Updates that LibTorch has no fused form of: RADAM's (Liu et al. 2020, "On the Variance of the
// Adaptive Learning Rate and Beyond") and, on a device, Adam's with a beta1 that changes.
#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "train/optimizer.h"

namespace lra {
namespace {

// Below this length the variance of the adaptive rate has no closed form (algorithm 2; the
// published program rounds 4 up to 5).
constexpr double kMinRectifiedLength = 5;

// The rectification r_t, or 0 where there is none (section 3.4).
double Rectification(double beta2, double step) {
  const double power = std::pow(beta2, step);
  const double longest = 2 / (1 - beta2) - 1;
  const double length = longest - 2 * step * power / (1 - power);
  if (length <= kMinRectifiedLength) return 0;
  return std::sqrt((length - 4) * (length - 2) * longest /
                   ((longest - 4) * (longest - 2) * length));
}

}  // namespace

Optimizer::Factors Optimizer::FactorsAt(const Group& group, const ScheduleValue& schedule,
                                        int64_t update) const {
  const double rate = RateOfGroup(group, schedule), step = static_cast<double>(update);
  const double correction1 = 1 - std::pow(schedule.beta1, step);
  const double correction2 = 1 - std::pow(config_.beta2(), step);
  Factors factors = {.beta1 = schedule.beta1, .kept = 1, .root = 1};
  if (config_.decay() != OptimizerConfig::COUPLED) factors.kept = 1 - rate * group.weight_decay;
  if (config_.kind() != OptimizerConfig::RADAM) {
    factors.root = 1 / std::sqrt(correction2);
    factors.adaptive = rate / correction1;
    return factors;
  }
  const double rectification = Rectification(config_.beta2(), step);
  (rectification > 0 ? factors.adaptive : factors.plain) = rate / correction1;
  if (rectification > 0) factors.adaptive *= rectification * std::sqrt(correction2);
  return factors;
}

void Optimizer::UpdateRectified(Group& group, const ScheduleValue& schedule) {
  const double beta1 = schedule.beta1, beta2 = config_.beta2();
  const Factors factors = FactorsAt(group, schedule, updates_);
  for (size_t i = 0; i < group.values.size(); ++i) {
    at::Tensor &value = group.values[i], &m = group.first_moments[i], &v = group.second_moments[i];
    at::Tensor gradient = value.grad();
    if (config_.decay() == OptimizerConfig::COUPLED) {
      gradient = gradient + group.weight_decay * value;
    } else {
      value.mul_(factors.kept);
    }
    m.mul_(beta1).add_(gradient, 1 - beta1);
    v.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
    if (factors.plain == 0) {
      value.addcdiv_(m, v.sqrt().add_(config_.epsilon()), -factors.adaptive);
    } else {
      value.add_(m, -factors.plain);
    }
  }
}

at::Tensor Optimizer::FactorsOnDevice(const Group& group, const ScheduleValue& schedule) const {
  at::Tensor row = at::empty({Factors::kCount}, has_failed_.options());
  int64_t place = 0;
  for (const double factor : FactorsAt(group, schedule, updates_ + 1).Row())
    row.select(0, place++).fill_(factor);
  return row;
}

// A void update, which only the device knows of, multiplies by 1 and adds 0. All weights go through
// each operation at once: for small models the launches are what takes time.
void Optimizer::UpdateByFactorsOnDevice(Group& group, std::vector<at::Tensor> gradients,
                                        const at::Tensor& factors) {
  const at::Tensor is_void = has_failed_ > 0, alive = 1 - has_failed_;
  const at::Tensor fresh1 = alive * (1 - factors[Factors::kBeta1]);
  const at::Tensor fresh2 = alive * (1 - config_.beta2());
  for (at::Tensor& gradient : gradients) gradient = at::where(is_void, 0.0, gradient);
  if (config_.decay() == OptimizerConfig::COUPLED)
    at::_foreach_add_(gradients, group.values, group.weight_decay);

  at::_foreach_mul_(group.first_moments, 1 - fresh1);
  at::_foreach_add_(group.first_moments, at::_foreach_mul(gradients, fresh1));
  at::_foreach_mul_(group.second_moments, 1 - fresh2);
  at::_foreach_mul_(gradients, gradients);
  at::_foreach_mul_(gradients, fresh2);
  at::_foreach_add_(group.second_moments, gradients);

  std::vector<at::Tensor> changes = at::_foreach_sqrt(group.second_moments);
  at::_foreach_mul_(changes, factors[Factors::kRoot]);
  at::_foreach_add_(changes, config_.epsilon());
  changes = at::_foreach_div(group.first_moments, changes);
  at::_foreach_mul_(changes, alive * factors[Factors::kAdaptive]);
  at::_foreach_mul_(group.values, 1 - alive * (1 - factors[Factors::kKept]));
  at::_foreach_sub_(group.values, changes);
  if (config_.kind() != OptimizerConfig::RADAM) return;
  at::_foreach_sub_(group.values,
                    at::_foreach_mul(group.first_moments, alive * factors[Factors::kPlain]));
}

}  // namespace lra
