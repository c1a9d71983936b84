#include "eval/score_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/difference_text.h"
#include "eval/run_interval.h"
#include "lra/progress.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// `interval` is what stands behind the evidence; may be empty. The value has `more` decimals than
// the metric's own.
std::string DescribeOne(const Metric& metric, const SplitResult& result,
                        const std::string& interval, int more = 0) {
  std::string text = absl::StrCat(metric.Text(metric.Value(result.sums()), more), " (",
                                  metric.Evidence(result.sums()));
  if (result.split_examples() > 0)
    absl::StrAppend(&text, ", the first of ", FormatCount(result.split_examples()));
  return absl::StrCat(text, interval, ")");
}

absl::StatusOr<std::string> DescribeWithInterval(const Metric& metric, const SplitResult& result,
                                                 const ScoredRun& run, double confidence) {
  LRA_ASSIGN_OR_RETURN(const std::optional<RunInterval> interval,
                       ReadRunInterval(run.directory, run.task, result, metric, confidence));
  if (!interval) return DescribeOne(metric, result, "");
  const auto [low, high] = interval->interval;
  // A model that copies all but a few symbols has 0.0003 nats.
  const int more = MoreDecimals(metric, interval->interval);
  return DescribeOne(
      metric, result,
      absl::StrFormat("; %g %% interval %s-%s%s, this run", 100 * confidence,
                      metric.Number(low, more), metric.Number(high, more),
                      interval->of.empty() ? "" : absl::StrCat(" of ", interval->of)),
      more);
}

// The metric that is told beside this one, where sequences are counted; else null.
const Metric* ToldBeside(const Metric& metric, const SplitResult& result) {
  if (!HasSequences(result.sums()) || metric.name() == kSequenceAccuracy) return nullptr;
  return *FindMetric(kSequenceAccuracy);
}

std::string Beside(const std::string& own, const std::string& sequences) {
  return absl::StrCat(own, ", ", kSequenceAccuracy, " ", sequences);
}

}  // namespace

std::string DescribeScore(const Metric& metric, const SplitResult& result) {
  const std::string own = DescribeOne(metric, result, "");
  const Metric* const beside = ToldBeside(metric, result);
  return beside == nullptr ? own : Beside(own, DescribeOne(*beside, result, ""));
}

absl::StatusOr<std::string> DescribeScoreWithInterval(const Metric& metric,
                                                      const SplitResult& result,
                                                      const ScoredRun& run, double confidence) {
  LRA_ASSIGN_OR_RETURN(const std::string own,
                       DescribeWithInterval(metric, result, run, confidence));
  const Metric* const beside = ToldBeside(metric, result);
  if (beside == nullptr) return own;
  LRA_ASSIGN_OR_RETURN(const std::string sequences,
                       DescribeWithInterval(*beside, result, run, confidence));
  return Beside(own, sequences);
}

std::optional<double> SequenceAccuracyOf(const SplitResult& result) {
  if (!HasSequences(result.sums())) return std::nullopt;
  return (*FindMetric(kSequenceAccuracy))->Value(result.sums());
}

}  // namespace lra
