#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lra/check.h"
#include "lra/protocol_rules.h"

namespace lra {
namespace {

// The defaults of torch.optim.lr_scheduler.OneCycleLR: start at peak/25, end at start/1e4, momentum
// .95 -> .85 -> .95.
constexpr double kStartDivisor = 25;
constexpr double kFinalDivisor = 1e4;
constexpr double kHighMomentum = 0.95;
constexpr double kLowMomentum = 0.85;

double WarmupFactor(double s, double warmup) {
  return warmup > 0 ? std::min(1.0, s / warmup) : 1.0;
}

// How much of the way from warm-up to the end is done, 0 .. 1.
double DecayProgress(double s, double warmup, double total) {
  return std::clamp((s - warmup) / std::max(1.0, total - warmup), 0.0, 1.0);
}

double Mix(double from, double to, double part) { return from + (to - from) * part; }

}  // namespace

Schedule::Schedule(const ScheduleConfig& config, const OptimizerConfig& optimizer,
                   int64_t total_steps)
    : kind_(config.kind()),
      rate_(config.learning_rate()),
      beta1_(optimizer.beta1()),
      plateau_factor_(config.plateau_factor()),
      drop_factor_(config.drop_factor()),
      drop_step_(config.drop_step()),
      warmup_(WarmupSteps(config, total_steps)),
      total_(total_steps) {}

ScheduleValue Schedule::OneCycle(double s) const {
  const double start = rate_ / kStartDivisor;
  const double peak_step = std::max<double>(1, warmup_ - 1);
  const double last_step = std::max<double>(peak_step + 1, total_ - 1);
  if (s <= peak_step) {
    const double part = s / peak_step;
    return {Mix(start, rate_, part), Mix(kHighMomentum, kLowMomentum, part), true};
  }
  const double part = std::min(1.0, (s - peak_step) / (last_step - peak_step));
  return {Mix(rate_, start / kFinalDivisor, part), Mix(kLowMomentum, kHighMomentum, part), true};
}

ScheduleValue Schedule::At(int64_t step, int64_t plateau_reductions) const {
  ScheduleValue value = Value(step, plateau_reductions);
  value.base_learning_rate = rate_;
  return value;
}

// Rates rise to the end of the warm-up (ONE_CYCLE's for a step at least) and never behind it. The
// run or a drop may end the rise before.
int64_t Schedule::PeakStep() const {
  int64_t peak = 0;
  for (const int64_t step : {int64_t{1}, drop_step_ - 1, warmup_ - 1, warmup_, total_ - 1}) {
    if (step < 0 || step >= total_) continue;
    if (At(step).learning_rate > At(peak).learning_rate) peak = step;
  }
  return peak;
}

ScheduleValue Schedule::Value(int64_t step, int64_t plateau_reductions) const {
  const double s = static_cast<double>(step), w = static_cast<double>(warmup_);
  const double t = static_cast<double>(total_), warm = rate_ * WarmupFactor(s, w);
  switch (kind_) {
    case ScheduleConfig::CONSTANT:
      return {warm, beta1_};
    case ScheduleConfig::LINEAR:
      return {s < w ? warm : rate_ * (1 - DecayProgress(s, w, t)), beta1_};
    case ScheduleConfig::COSINE:
      if (s < w) return {warm, beta1_};
      return {rate_ * 0.5 * (1 + std::cos(std::numbers::pi * DecayProgress(s, w, t))), beta1_};
    case ScheduleConfig::ONE_CYCLE:
      return OneCycle(s);
    case ScheduleConfig::INVERSE_SQRT:
      return {warm / std::sqrt(std::max({s, w, 1.0})), beta1_};
    case ScheduleConfig::COSINE_CYCLE: {
      const double cycles = std::max(0.0, s - w) / t;
      return {warm * 0.5 * (1 + std::cos(std::numbers::pi * (cycles - std::floor(cycles)))),
              beta1_};
    }
    case ScheduleConfig::PLATEAU:
      return {warm * std::pow(plateau_factor_, static_cast<double>(plateau_reductions)), beta1_};
    case ScheduleConfig::STEP:
      return {step < drop_step_ ? warm : warm * drop_factor_, beta1_};
    default:
      LRA_CHECK(false) << "schedule kind " << kind_;
  }
  return {};
}

}  // namespace lra
