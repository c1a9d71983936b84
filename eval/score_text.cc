#include "eval/score_text.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lra/progress.h"

namespace lra {
namespace {

std::string Describe(const Metric& metric, const SplitResult& result, const std::string& interval) {
  const std::string part =
      result.split_examples() == 0
          ? ""
          : absl::StrCat(", the first of ", FormatCount(result.split_examples()));
  return absl::StrCat(metric.Text(metric.Value(result.sums())), " (",
                      metric.Evidence(result.sums()), part, interval, ")");
}

}  // namespace

std::string DescribeScore(const Metric& metric, const SplitResult& result) {
  return Describe(metric, result, "");
}

std::string DescribeScoreWithInterval(const Metric& metric, const SplitResult& result,
                                      double confidence) {
  const std::optional<Interval> interval = metric.RunInterval(result.sums(), confidence);
  if (!interval) return Describe(metric, result, "");
  return Describe(metric, result,
                  absl::StrFormat("; %g %% interval %s-%s, this run", 100 * confidence,
                                  metric.Number(interval->low), metric.Number(interval->high)));
}

}  // namespace lra
