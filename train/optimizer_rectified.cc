// RADAM's update: Liu et al. 2020 ("On the Variance of the Adaptive Learning Rate and Beyond").
#include <ATen/TensorOperators.h>
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

Optimizer::Rectified<double> Optimizer::RectifiedAt(const Group& group,
                                                    const ScheduleValue& schedule,
                                                    int64_t update) const {
  const double rate = RateOfGroup(group, schedule), step = static_cast<double>(update);
  const double correction1 = 1 - std::pow(schedule.beta1, step);
  const double correction2 = 1 - std::pow(config_.beta2(), step);
  const double rectification = Rectification(config_.beta2(), step);
  const double kept =
      config_.decay() == OptimizerConfig::COUPLED ? 1 : 1 - rate * group.weight_decay;
  if (rectification > 0)
    return {kept, rate * rectification * std::sqrt(correction2) / correction1, 0};
  return {kept, 0, rate / correction1};
}

void Optimizer::UpdateRectified(Group& group, const ScheduleValue& schedule) {
  const double beta1 = schedule.beta1, beta2 = config_.beta2();
  const Rectified<double> factors = RectifiedAt(group, schedule, updates_);
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

// Takes back what a void update did, which only the device knows of.
template <class Number>
void Optimizer::UpdateRectifiedOnDevice(Group& group, double beta1,
                                        const Rectified<Number>& factors) {
  const double beta2 = config_.beta2();
  const at::Tensor is_void = has_failed_ > 0;
  const auto change = [&](at::Tensor& tensor, const at::Tensor& changed) {
    tensor.copy_(at::where(is_void, tensor, changed));
  };
  for (size_t i = 0; i < group.values.size(); ++i) {
    at::Tensor &value = group.values[i], &m = group.first_moments[i], &v = group.second_moments[i];
    at::Tensor gradient = value.grad();
    if (config_.decay() == OptimizerConfig::COUPLED)
      gradient = gradient + group.weight_decay * value;
    change(m, m * beta1 + gradient * (1 - beta1));
    change(v, v * beta2 + gradient * gradient * (1 - beta2));
    const at::Tensor adaptive = m / (v.sqrt() + config_.epsilon());
    change(value, value * factors.kept - adaptive * factors.adaptive - m * factors.plain);
  }
}

template void Optimizer::UpdateRectifiedOnDevice(Group& group, double beta1,
                                                 const Rectified<double>& factors);
template void Optimizer::UpdateRectifiedOnDevice(Group& group, double beta1,
                                                 const Rectified<at::Tensor>& factors);

}  // namespace lra
