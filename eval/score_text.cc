#include "eval/score_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lra/progress.h"

namespace lra {
namespace {

// With the run's interval where a confidence is given.
std::string DescribeOne(const Metric& metric, const SplitResult& result,
                        std::optional<double> confidence) {
  std::string text =
      absl::StrCat(metric.Text(metric.Value(result.sums())), " (", metric.Evidence(result.sums()));
  if (result.split_examples() > 0)
    absl::StrAppend(&text, ", the first of ", FormatCount(result.split_examples()));
  const std::optional<Interval> interval =
      confidence ? metric.RunInterval(result.sums(), *confidence) : std::nullopt;
  if (interval) {
    absl::StrAppendFormat(&text, "; %g %% interval %s-%s, this run", 100 * *confidence,
                          metric.Number(interval->low), metric.Number(interval->high));
  }
  return absl::StrCat(text, ")");
}

std::string Describe(const Metric& metric, const SplitResult& result,
                     std::optional<double> confidence) {
  const std::string own = DescribeOne(metric, result, confidence);
  if (!HasSequences(result.sums()) || metric.name() == kSequenceAccuracy) return own;
  return absl::StrCat(own, ", ", kSequenceAccuracy, " ",
                      DescribeOne(**FindMetric(kSequenceAccuracy), result, confidence));
}

}  // namespace

std::string DescribeScore(const Metric& metric, const SplitResult& result) {
  return Describe(metric, result, std::nullopt);
}

std::string DescribeScoreWithInterval(const Metric& metric, const SplitResult& result,
                                      double confidence) {
  return Describe(metric, result, confidence);
}

std::optional<double> SequenceAccuracyOf(const SplitResult& result) {
  if (!HasSequences(result.sums())) return std::nullopt;
  return (*FindMetric(kSequenceAccuracy))->Value(result.sums());
}

}  // namespace lra
