// The doctor's rule about a run's learning rate.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/doctor_rules.h"
#include "lra/protocol_rules.h"

namespace lra::internal {
namespace {

// A learning rate that differs by this factor from one that is known to work explains a curve.
constexpr double kRateFactor = 8;
constexpr double kRatioTooHigh = 0.05, kRatioTooLow = 1e-6;
// Weights that moved from their initial values by more than this share of their size a step, on
// average, show too large steps.
constexpr double kChangeTooHigh = 0.01;
// A loss above the class entropy times this is worse than knowing nothing but the class
// frequencies.
constexpr double kWorseThanNothing = 1.05;
constexpr double kExploded = 4;

// Returns the median of the recorded update ratios, 0 if none was recorded.
double MedianUpdateRatio(const RunRecord& run) {
  std::vector<double> ratios;
  for (const CurvePoint& point : run.curve()) {
    if (point.update_ratio() > 0) ratios.push_back(point.update_ratio());
  }
  if (ratios.empty()) return 0;
  std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
  return ratios[ratios.size() / 2];
}

// Returns the point with the largest training loss after the warm-up, null if there is none. The
// first point is left out, since it may hold the start.
const CurvePoint* WorstPoint(const Symptoms& s) {
  const int64_t warmup = WarmupSteps(s.config().schedule(), s.config().train().steps());
  const CurvePoint* worst = nullptr;
  for (const CurvePoint& point : s.facts->run.curve()) {
    if (&point == &s.facts->run.curve(0) || point.step() <= warmup) continue;
    if (worst == nullptr || point.train_loss() > worst->train_loss()) worst = &point;
  }
  return worst;
}

bool IsWarmingUp(const Symptoms& s) {
  return s.step <= WarmupSteps(s.config().schedule(), s.config().train().steps());
}

// Whether the loss is so far above that of knowing the frequencies that no later step is awaited.
bool Explodes(const Symptoms& s) {
  return s.entropy > 0 && s.late_loss > kExploded * s.entropy && !IsWarmingUp(s);
}

// Whether there are traces of too large steps, which stay even where the run learns something in
// the end.
bool LooksTooHigh(const Symptoms& s, double ratio) {
  const CurvePoint* worst = WorstPoint(s);
  if (worst != nullptr && worst->train_loss() > kWorseThanNothing * s.entropy) return true;
  const std::optional<ModelFacts>& model = s.facts->model;
  const bool moves = model && model->step > 0 && model->began_with_initial &&
                     model->change / static_cast<double>(model->step) > kChangeTooHigh;
  return moves || ratio > kRatioTooHigh;
}

// The largest rate of a schedule over its learning_rate: INVERSE_SQRT divides it by the root of the
// warm-up.
double PeakOverRate(const ScheduleConfig& schedule, int64_t steps) {
  if (schedule.kind() != ScheduleConfig::INVERSE_SQRT) return 1;
  return 1 / std::sqrt(std::max(1.0, static_cast<double>(WarmupSteps(schedule, steps))));
}

// Returns a learning rate that is known to work here: under this run's schedule, as large as the
// known one's largest. Sets `source` to where that is from. Returns 0 if none is known.
double KnownRate(const Symptoms& s, std::string* source) {
  const double peak = PeakOverRate(s.config().schedule(), s.config().train().steps());
  if (s.started != nullptr) {
    *source = s.started->source();
    return s.started->learning_rate() / peak;
  }
  if (!s.rules) return 0;
  *source = absl::StrCat(s.config().protocol(), " with preset ", s.config().preset());
  const ScheduleConfig& rule = s.rules->schedule();
  return rule.learning_rate() * PeakOverRate(rule, s.rules->train().steps()) / peak;
}

std::string DescribeRate(const Symptoms& s, double ratio) {
  std::string text =
      absl::StrFormat("schedule.learning_rate %g; training loss %.3f (%s)",
                      s.config().schedule().learning_rate(), s.late_loss, MajorityLine(s));
  double largest = 0;
  for (const CurvePoint& p : s.facts->run.curve()) {
    largest = std::max(largest, p.max_gradient_norm());
  }
  if (largest > 0) absl::StrAppendFormat(&text, "; largest gradient norm %.3g", largest);
  if (ratio > 0) absl::StrAppendFormat(&text, "; update-to-weight ratio %.1e a step", ratio);
  if (s.facts->model && s.facts->model->began_with_initial) {
    absl::StrAppendFormat(&text, "; weights moved by %.2f of their size in %d steps",
                          s.facts->model->change, s.facts->model->step);
  }
  if (const CurvePoint* worst = WorstPoint(s)) {
    absl::StrAppendFormat(&text, "; worst loss after warm-up %.3f at step %d", worst->train_loss(),
                          worst->step());
  }
  return text;
}

}  // namespace

std::string RateFlag(double rate) {
  return SetFlag("schedule.learning_rate", absl::StrFormat("%.3g", rate));
}

std::string LongerWarmup(const ExperimentConfig& config) {
  const int64_t steps = config.train().steps(), now = WarmupSteps(config.schedule(), steps);
  const int64_t longer = std::max({2 * now, steps / 10, int64_t{1}});
  return absl::StrCat("a longer warm-up: ", SetFlag("schedule.warmup_steps", longer));
}

void CheckLearningRate(const Symptoms& s, Findings* findings) {
  const double rate = s.config().schedule().learning_rate();
  std::string source;
  const double known = KnownRate(s, &source);
  const double ratio = MedianUpdateRatio(s.facts->run);
  const bool is_judged = !s.is_early && !IsWarmingUp(s);
  const bool is_bad =
      Explodes(s) || (is_judged && (s.is_stuck || s.late_loss > kWorseThanNothing * s.entropy));
  const bool is_far_above = known > 0 && rate >= kRateFactor * known;
  if (s.entropy == 0 || (!is_bad && !(is_far_above && LooksTooHigh(s, ratio)))) return;
  Finding finding{.strength = Finding::kLikely,
                  .observed = DescribeRate(s, ratio),
                  .expected = absl::StrFormat("%g", known),
                  .landmark = source};
  if (is_far_above) {
    finding.cause = kRateTooHigh;
    finding.fix = absl::StrCat(RateFlag(known), ", or ", LongerWarmup(s.config()));
  } else if (known > 0 && rate * kRateFactor <= known && !Explodes(s)) {
    finding.cause = kRateTooLow;
    finding.fix = RateFlag(known);
  } else if (ratio > kRatioTooHigh || s.late_loss > kWorseThanNothing * s.entropy) {
    finding.cause = kRateTooHigh;
    finding.strength = Finding::kHint;
    finding.expected = absl::StrFormat("a ratio near 1e-3, a loss below %.2f nats", s.entropy);
    finding.fix = absl::StrCat(RateFlag(rate / 3), " ", SetFlag("optimizer.clip_norm", 1));
  } else if (ratio > 0 && ratio < kRatioTooLow) {
    finding.cause = kRateTooLow;
    finding.strength = Finding::kHint;
    finding.expected = "a ratio near 1e-3";
    finding.fix = RateFlag(3 * rate);
  } else {
    return;
  }
  findings->push_back(finding);
}

}  // namespace lra::internal
