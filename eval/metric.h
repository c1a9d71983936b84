// Metrics: what judges a task. A metric says which scorer makes its sums, how they become a value,
// which direction is better, how the value is shown, and whether an example scores 0 or 1.
// Selection, early stopping, search, curves and tables ask it and know no more.
//
//   LRA_ASSIGN_OR_RETURN(const Metric* metric, MetricOf(spec));
//   if (metric->Better(metric->Value(sums), best)) ...
//
// A metric is a source of eval/metrics/ that registers itself; a task names it in its
// specification (TaskSpec.metric_name).
#ifndef LRA_EVAL_METRIC_H_
#define LRA_EVAL_METRIC_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eval/crossed.h"
#include "eval/scorer.h"
#include "eval/statistics.h"
#include "eval/sums.h"
#include "lra/registry.h"
#include "lra/task_spec.pb.h"

namespace lra {

struct MetricTraits {
  std::string name;  // as registered
  // Begins the explanation of a table: "Accuracy in percent".
  std::string title;
  // Behind a number: "%", "bits/token".
  std::string unit;
  // What else the unit is called where tokens are of one kind, "bits/byte", and what it is called
  // on a task as its view shows it: one of these, or "" for `unit`. Null where there are none.
  std::vector<std::string> other_units{};
  std::string (*unit_on)(const TaskSpec& spec) = nullptr;
  bool is_higher_better = true;
  // A value is shown as scale * value with so many decimals in a table.
  double scale = 1;
  int decimals = 3;
  // The least and the largest value that there can be; a proportion's interval knows them anyway.
  Interval range{.low = -std::numeric_limits<double>::infinity(),
                 .high = std::numeric_limits<double>::infinity()};
  // Whether every example's value is 0 or 1 and a run's value is their mean. One run then has the
  // exact binomial interval, and several an interval that stays in [0, 1].
  bool is_proportion = false;
  // The count that a proportion is of.
  std::string whole = kTargets;
  std::string scorer = kCategorical;
  // Whether a run that is no better than the majority class by this metric has learned nothing.
  bool tells_training = true;
  // The derivative of a metric that is a function of the mean nats of a target alone; null of
  // others.
  double (*slope_by_nats)(double nats) = nullptr;
  // That Value() reads.
  std::vector<std::string> sums;
};

class Metric {
 public:
  explicit Metric(MetricTraits traits) : traits_(std::move(traits)) {}
  virtual ~Metric() = default;

  const MetricTraits& traits() const { return traits_; }
  const std::string& name() const { return traits_.name; }

  // 0 for sums of nothing.
  virtual double Value(const Sums& sums) const = 0;
  // What the value rests on: "690 of 2,000".
  virtual std::string Evidence(const Sums& sums) const = 0;
  // The interval of one run's expected value over new examples, from its sums alone: exact binomial
  // (Clopper-Pearson) of a proportion; nullopt of anything else.
  std::optional<Interval> RunInterval(const Sums& run, double confidence) const;
  // The interval of a value, of which a half width may have left the range. Not for differences.
  Interval WithinRange(Interval interval) const;
  // Each example's value, of which a run's value is the mean. Where examples have unlike numbers of
  // targets, a quotient of sums is linearised (Cochran, Sampling Techniques, 1977, 6.4): an example
  // that has t of T targets and the value v counts as r + E t / T (v - r), r the run's value and E
  // the number of examples, which has the quotient's mean and, for many examples, its variance.
  // nullopt where that is not the mean either, and where a proportion's values are not 0 or 1.
  std::optional<ExampleValues> ValuesOf(const ExampleSums& sums) const;
  // The value of that kind of an example with the sums `one`, among `examples` with the sums `run`.
  virtual double LinearValue(const Sums& one, const Sums& run, int64_t examples) const;
  // The same examples' values from `values`, which are by `other`: of guessed tokens, nats, bits
  // and perplexity give each other. nullopt of any other two metrics.
  std::optional<ExampleValues> ValuesFrom(const Metric& other, const ExampleValues& values,
                                          const Sums& run) const;

  // Whether the value a is strictly better than b: the only place that knows the direction.
  bool Better(double a, double b) const { return traits_.is_higher_better ? a > b : a < b; }

  // Decimals that give a half width two digits, in excess of `decimals`: 0.0228 of accuracy is 2.3
  // points, so -1.
  int DecimalsFor(double half_width) const;

  // "34.50", and with the unit "34.50 %"; `more` decimals than a table has.
  std::string Number(double value, int more = 0) const;
  std::string Text(double value, int more = 0) const;
  // The unit of a difference: "points" where values are in percent.
  std::string difference_unit() const { return traits_.unit == "%" ? "points" : traits_.unit; }
  // The unit of values as they are stored, for machines: "fraction" where tables show percent.
  std::string stored_unit() const { return traits_.scale == 100 ? "fraction" : traits_.unit; }
  // That two values can have, not scaled; infinite where values have no end.
  double LargestDifference() const {
    return traits_.is_proportion ? 1 : traits_.range.high - traits_.range.low;
  }
  // The head of a table's column: "listops", or "text (bits_per_token in bits/token, lower is
  // better)".
  std::string Heading(absl::string_view task) const;

 protected:
  // One of `examples` values whose mean is the quotient of sums that `value` is: `one`, of
  // `targets` of all targets.
  static double Linearised(double one, int64_t targets, int64_t all, int64_t examples,
                           double value);

 private:
  const MetricTraits traits_;
};

// "2.4 points", "1 point", "1 bits/token": an amount in the unit of a difference.
std::string AmountText(absl::string_view number, absl::string_view unit);

using MetricRegistry = Registry<Metric>;

// The metric of tasks that name none.
inline constexpr char kAccuracy[] = "accuracy";
// The metric of pretraining.
inline constexpr char kBitsPerToken[] = "bits_per_token";

// Lives as long as the program. InvalidArgument lists the known names.
absl::StatusOr<const Metric*> FindMetric(absl::string_view name);
std::string MetricName(const TaskSpec& spec);
// The metric of that name, or the task's own, in the unit that it has on the task. Metrics that
// differ in their unit alone have one name, by which they are compared.
absl::StatusOr<const Metric*> MetricOf(const TaskSpec& spec, absl::string_view name = "");
// For a number of several tasks, whose metrics have one name: theirs, or FindMetric's where their
// units differ. At least one.
const Metric& MetricOfAll(absl::Span<const Metric* const> metrics);
// "bits/byte, bits/dim": their units where these differ, so that there is no number of them
// together; empty where all have one.
std::string UnlikeUnits(absl::Span<const Metric* const> metrics);

// InvalidArgument unless the sums that `producer` ("training with labels") gives are enough.
absl::Status CheckSums(const Metric& metric, absl::string_view producer,
                       const std::vector<std::string>& sums);

// Sums of the categorical scorer, and of the metric's own where that is another. The errors of
// Scorer::Score.
absl::StatusOr<ExampleSums> ScoreGuesses(const Metric& metric, const Guesses& guesses);
// Their names.
std::vector<std::string> ScoredSums(const Metric& metric);

}  // namespace lra

#endif  // LRA_EVAL_METRIC_H_
