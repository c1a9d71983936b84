#include "eval/all_runs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "eval/statistics.h"
#include "lra/check.h"

namespace lra {
namespace {

// The estimate of c + q (m - c) for a fixed share q.
Estimate Scaled(const Estimate& trained, double q, double guessing) {
  Estimate scaled = WithVariance(trained);
  scaled.mean = guessing + q * (trained.mean - guessing);
  scaled.seed_variance *= q * q;
  scaled.example_variance *= q * q;
  if (scaled.least_example_variance) *scaled.least_example_variance *= q * q;
  return scaled;
}

// How far the unknown rate lets theta lie below and above.
struct Arms {
  double below = 0, above = 0;
};

Arms RateArms(const TaskPart& part, double confidence) {
  if (!part.failures) return {};
  const LearnRate& learned = part.failures->learn_rate;
  const Interval rate = ClopperPearson(learned.trained, learned.runs, confidence);
  const double gain = part.trained.mean - part.failures->guessing;
  const double fewer = gain * (learned.rate() - rate.low);
  const double more = gain * (rate.high - learned.rate());
  // Where lower is better the gain is negative, and more trained runs move theta down.
  return gain >= 0 ? Arms{fewer, more} : Arms{-more, -fewer};
}

Interval Cut(const Interval& interval) {
  return {.low = std::max(0.0, interval.low), .high = std::min(1.0, interval.high)};
}

Estimate AllRunsEstimate(const TaskPart& part) {
  if (!part.failures) return part.trained;
  LRA_CHECK(part.failures->learn_rate.trained >= 1) << "no run trained";
  return Scaled(part.trained, part.failures->learn_rate.rate(), part.failures->guessing);
}

}  // namespace

MeanOfAll AllRunsMean(const TaskPart& part, double confidence) {
  const double rate = part.failures ? part.failures->learn_rate.rate() : 1;
  const double width = rate * HalfWidth(part.trained, confidence);
  const Arms arms = RateArms(part, confidence);
  MeanOfAll all;
  all.mean = AllRunsEstimate(part).mean;
  all.degrees = part.trained.seed_degrees;
  all.interval = {.low = all.mean - std::hypot(width, arms.below),
                  .high = all.mean + std::hypot(width, arms.above)};
  if (part.is_proportion) all.interval = Cut(all.interval);
  return all;
}

Estimate AverageEstimate(absl::Span<const Estimate> parts) {
  LRA_CHECK(!parts.empty());
  const auto tasks = static_cast<double>(parts.size());
  Estimate average;
  double welch_seeds = 0, welch_examples = 0, least = 0;
  bool is_bound = false;
  for (const Estimate& of_task : parts) {
    const Estimate part = WithVariance(of_task);
    const double seeds = part.seed_variance / Square(tasks);
    const double examples = part.example_variance / Square(tasks);
    average.mean += part.mean / tasks;
    average.seed_variance += seeds;
    if (seeds > 0) welch_seeds += Square(seeds) / part.seed_degrees;
    average.example_variance += examples;
    if (examples > 0) welch_examples += Square(examples) / part.example_degrees;
    least += part.least_example_variance.value_or(part.example_variance) / Square(tasks);
    is_bound |= part.least_example_variance.has_value();
  }
  // Without end where every part's are.
  if (welch_seeds > 0) average.seed_degrees = Square(average.seed_variance) / welch_seeds;
  if (welch_examples > 0)
    average.example_degrees = Square(average.example_variance) / welch_examples;
  if (is_bound) average.least_example_variance = least;
  return average;
}

MeanOfAll AverageOverTasks(absl::Span<const TaskPart> parts, double confidence) {
  std::vector<Estimate> estimates;
  double below = 0, above = 0;
  for (const TaskPart& part : parts) {
    estimates.push_back(AllRunsEstimate(part));
    const Arms arms = RateArms(part, confidence);
    below += Square(arms.below);
    above += Square(arms.above);
  }
  const auto tasks = static_cast<double>(parts.size());
  const Estimate average = AverageEstimate(estimates);
  const double width = HalfWidth(average, confidence);
  const Interval interval = {.low = average.mean - std::hypot(width, std::sqrt(below) / tasks),
                             .high = average.mean + std::hypot(width, std::sqrt(above) / tasks)};
  const bool is_proportion = std::all_of(parts.begin(), parts.end(),
                                         [](const TaskPart& part) { return part.is_proportion; });
  return {.mean = average.mean,
          .interval = is_proportion ? Cut(interval) : interval,
          .degrees = average.seed_degrees};
}

}  // namespace lra
