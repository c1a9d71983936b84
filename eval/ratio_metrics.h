// The two usual kinds of metric: a share of right guesses, and a mean over targets.
#ifndef LRA_EVAL_RATIO_METRICS_H_
#define LRA_EVAL_RATIO_METRICS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/metric.h"
#include "lra/progress.h"

namespace lra {

// One count of targets over all of them, in [0, 1].
class ShareMetric : public Metric {
 public:
  ShareMetric(MetricTraits traits, std::string part, std::string whole)
      : Metric(Complete(std::move(traits), part, whole)),
        part_(std::move(part)),
        whole_(std::move(whole)) {}

  double Value(const Sums& sums) const override {
    const int64_t whole = CountOf(sums, whole_);
    return whole == 0 ? 0 : static_cast<double>(CountOf(sums, part_)) / static_cast<double>(whole);
  }
  std::string Evidence(const Sums& sums) const override {
    return absl::StrCat(FormatCount(CountOf(sums, part_)), " of ",
                        FormatCount(CountOf(sums, whole_)));
  }

 private:
  static MetricTraits Complete(MetricTraits traits, const std::string& part,
                               const std::string& whole) {
    traits.is_proportion = true;
    traits.whole = whole;
    traits.range = {.low = 0, .high = 1};
    traits.sums = {part, whole};
    return traits;
  }
  const std::string part_, whole_;
};

// The range of what cannot be negative, such as the negative logarithm of a probability.
inline constexpr Interval kFromZero{.low = 0, .high = std::numeric_limits<double>::infinity()};

// A total over a count, in units of `divisor`.
class MeanMetric : public Metric {
 public:
  MeanMetric(MetricTraits traits, std::string total, std::string count, double divisor = 1)
      : Metric(Complete(std::move(traits), total, count)),
        total_(std::move(total)),
        count_(std::move(count)),
        divisor_(divisor) {}

  double Value(const Sums& sums) const override {
    const int64_t count = CountOf(sums, count_);
    return count == 0 ? 0 : TotalOf(sums, total_) / divisor_ / static_cast<double>(count);
  }
  std::string Evidence(const Sums& sums) const override {
    return absl::StrCat(FormatCount(CountOf(sums, count_)), " ", count_);
  }

 private:
  static MetricTraits Complete(MetricTraits traits, const std::string& total,
                               const std::string& count) {
    traits.sums = {total, count};
    return traits;
  }
  const std::string total_, count_;
  const double divisor_;
};

}  // namespace lra

#endif  // LRA_EVAL_RATIO_METRICS_H_
