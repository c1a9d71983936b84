// A metric of the tests: the share of wrong guesses, where lower is better. Whatever it judges must
// come out as accuracy has it. To be included in one source of a program.
#ifndef LRA_EVAL_ERROR_RATE_TEST_UTIL_H_
#define LRA_EVAL_ERROR_RATE_TEST_UTIL_H_

#include <memory>
#include <string>

#include "eval/metric.h"

namespace lra {

inline constexpr char kErrorRate[] = "error_rate";

class ErrorRate : public Metric {
 public:
  ErrorRate()
      : Metric({.name = kErrorRate,
                .title = "Error rate in percent",
                .unit = "%",
                .is_higher_better = false,
                .scale = 100,
                .decimals = 2,
                .is_proportion = true,
                .sums = {kCorrect, kTargets}}) {}
  double Value(const Sums& sums) const override {
    const int64_t targets = CountOf(sums, kTargets);
    return targets == 0 ? 0 : static_cast<double>(Wrong(sums)) / static_cast<double>(targets);
  }
  std::string Evidence(const Sums& sums) const override {
    return std::to_string(Wrong(sums)) + " wrong";
  }

 private:
  static int64_t Wrong(const Sums& sums) {
    return CountOf(sums, kTargets) - CountOf(sums, kCorrect);
  }
};

inline absl::StatusOr<std::unique_ptr<Metric>> MakeErrorRate() {
  return std::make_unique<ErrorRate>();
}

LRA_REGISTER(MetricRegistry, kErrorRate, MakeErrorRate);

}  // namespace lra

#endif  // LRA_EVAL_ERROR_RATE_TEST_UTIL_H_
