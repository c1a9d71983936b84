#include "eval/metric.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lra/check.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {
namespace {

using Metrics = std::map<std::string, std::unique_ptr<Metric>>;

// One of each registered metric.
const Metrics& AllMetrics() {
  static const Metrics& metrics = *[] {
    auto* all = new Metrics;
    for (const std::string& name : MetricRegistry::Get().Names()) {
      auto metric = MetricRegistry::Get().Create("metric", name);
      LRA_CHECK(metric.ok() && (*metric)->name() == name) << name << ": " << metric.status();
      all->emplace(name, *std::move(metric));
    }
    return all;
  }();
  return metrics;
}

// A metric under another name of its unit.
class MetricInUnit : public Metric {
 public:
  MetricInUnit(const Metric& metric, const std::string& unit)
      : Metric(Renamed(metric.traits(), unit)), metric_(metric) {}
  double Value(const Sums& sums) const override { return metric_.Value(sums); }
  std::string Evidence(const Sums& sums) const override { return metric_.Evidence(sums); }
  double LinearValue(const Sums& one, const Sums& run, int64_t examples) const override {
    return metric_.LinearValue(one, run, examples);
  }

 private:
  static MetricTraits Renamed(MetricTraits traits, const std::string& unit) {
    traits.unit = unit;
    return traits;
  }
  const Metric& metric_;
};

// Each metric in each of its other units, by name and unit.
using MetricsInUnits = std::map<std::pair<std::string, std::string>, std::unique_ptr<Metric>>;
const MetricsInUnits& AllMetricsInOtherUnits() {
  static const MetricsInUnits& metrics = *[] {
    auto* all = new MetricsInUnits;
    for (const auto& entry : AllMetrics()) {
      for (const std::string& unit : entry.second->traits().other_units)
        (*all)[{entry.first, unit}] = std::make_unique<MetricInUnit>(*entry.second, unit);
    }
    return all;
  }();
  return metrics;
}

const Metric* InUnitOn(const TaskSpec& spec, const Metric* metric) {
  if (metric->traits().unit_on == nullptr) return metric;
  const MetricsInUnits& others = AllMetricsInOtherUnits();
  const auto it = others.find({metric->name(), metric->traits().unit_on(spec)});
  return it == others.end() ? metric : it->second.get();
}

std::unique_ptr<Scorer> MakeScorer(const std::string& name) {
  auto scorer = ScorerRegistry::Get().Create("scorer", name);
  LRA_CHECK(scorer.ok()) << scorer.status();
  return *std::move(scorer);
}

// Every metric stands beside the same counts: the doctor and the curve of labels read them.
std::vector<std::string> ScorersOf(const Metric& metric) {
  const std::string& own = metric.traits().scorer;
  if (own == kCategorical) return {own};
  return {kCategorical, own};
}

}  // namespace

std::optional<Interval> Metric::RunInterval(const Sums& run, double confidence) const {
  const int64_t whole = CountOf(run, traits_.whole);
  if (!traits_.is_proportion || whole < 1) return std::nullopt;
  const int64_t part = std::llround(Value(run) * static_cast<double>(whole));
  // Sums may be read from a file that lacks them, or says that they are no share.
  if (part < 0 || part > whole) return std::nullopt;
  return ClopperPearson(part, whole, confidence);
}

namespace {

bool IsMean(const ExampleValues& values, double value) {
  double mean = 0;
  for (const double one : values) mean += one;
  mean /= static_cast<double>(values.size());
  return std::abs(mean - value) <= 1e-9 * std::max(1.0, std::abs(value));
}

}  // namespace

double Metric::Linearised(double one, int64_t targets, int64_t all, int64_t examples,
                          double value) {
  const double weight =
      static_cast<double>(examples) / static_cast<double>(std::max<int64_t>(1, all));
  return value + weight * static_cast<double>(targets) * (one - value);
}

std::optional<ExampleValues> Metric::ValuesOf(const ExampleSums& sums) const {
  const Sums total = sums.Total();
  const auto targets = sums.counts.find(kTargets);
  if (targets == sums.counts.end() || targets->second.empty()) return std::nullopt;
  Sums one;
  ExampleValues values;
  for (size_t i = 0; i < targets->second.size(); ++i) {
    sums.Get(i, &one);
    values.push_back(Value(one));
    if (traits_.is_proportion && values.back() != 0 && values.back() != 1) return std::nullopt;
  }
  const double value = Value(total);
  if (IsMean(values, value)) return values;
  const auto examples = static_cast<int64_t>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    sums.Get(i, &one);
    values[i] = LinearValue(one, total, examples);
  }
  if (traits_.is_proportion || !IsMean(values, value)) return std::nullopt;
  return values;
}

double Metric::LinearValue(const Sums& one, const Sums& run, int64_t examples) const {
  return Linearised(Value(one), CountOf(one, kTargets), CountOf(run, kTargets), examples,
                    Value(run));
}

std::optional<ExampleValues> Metric::ValuesFrom(const Metric& other, const ExampleValues& values,
                                                const Sums& run) const {
  const auto slope = traits_.slope_by_nats, other_slope = other.traits_.slope_by_nats;
  const int64_t tokens = CountOf(run, kTokens);
  // Where some targets are no tokens, one mean is of the targets and another of the tokens.
  if (slope == nullptr || other_slope == nullptr || tokens < 1 || tokens != CountOf(run, kTargets))
    return std::nullopt;
  const double nats = TotalOf(run, kNats) / static_cast<double>(tokens);
  const double by_other = slope(nats) / other_slope(nats);
  const double value = Value(run), other_value = other.Value(run);
  ExampleValues derived;
  derived.reserve(values.size());
  for (const double one : values) derived.push_back(value + by_other * (one - other_value));
  return derived;
}

Interval Metric::WithinRange(Interval interval) const {
  // What is not known, NaN, stays so.
  if (interval.low < traits_.range.low) interval.low = traits_.range.low;
  if (interval.high > traits_.range.high) interval.high = traits_.range.high;
  return interval;
}

int Metric::DecimalsFor(double half_width) const {
  const double shown = std::abs(traits_.scale * half_width);
  if (!(shown > 0)) return 0;
  return 1 - static_cast<int>(std::floor(std::log10(shown))) - traits_.decimals;
}

std::string Metric::Number(double value, int more) const {
  return absl::StrFormat("%.*f", std::max(0, traits_.decimals + more), traits_.scale * value);
}

std::string Metric::Text(double value, int more) const {
  return absl::StrCat(Number(value, more), " ", traits_.unit);
}

std::string AmountText(absl::string_view number, absl::string_view unit) {
  return absl::StrCat(number, " ", number == "1" && unit == "points" ? "point" : unit);
}

std::string Metric::Heading(absl::string_view task) const {
  if (name() == kAccuracy) return std::string(task);
  const std::string unit = traits_.unit == name() ? "" : absl::StrCat(" in ", traits_.unit);
  return absl::StrCat(task, " (", name(), unit, ", ", traits_.is_higher_better ? "higher" : "lower",
                      " is better)");
}

absl::StatusOr<const Metric*> FindMetric(absl::string_view name) {
  const auto it = AllMetrics().find(std::string(name));
  if (it != AllMetrics().end()) return it->second.get();
  return UnknownNameError("metric", name, MetricRegistry::Get().Names());
}

std::string MetricName(const TaskSpec& spec) {
  return spec.metric_name().empty() ? kAccuracy : spec.metric_name();
}

absl::StatusOr<const Metric*> MetricOf(const TaskSpec& spec, absl::string_view name) {
  const std::string wanted = name.empty() ? MetricName(spec) : std::string(name);
  const absl::StatusOr<const Metric*> metric = FindMetric(wanted);
  if (metric.ok()) return InUnitOn(spec, *metric);
  if (!name.empty()) return metric;
  return Annotate(metric.status(), absl::StrCat("metric_name of task \"", spec.name(), "\""));
}

const Metric& MetricOfAll(absl::Span<const Metric* const> metrics) {
  LRA_CHECK(!metrics.empty());
  const Metric& first = *metrics.front();
  return UnlikeUnits(metrics).empty() ? first : **FindMetric(first.name());
}

std::string UnlikeUnits(absl::Span<const Metric* const> metrics) {
  std::set<std::string> units;
  for (const Metric* metric : metrics) units.insert(metric->traits().unit);
  return units.size() < 2 ? "" : absl::StrJoin(units, ", ");
}

absl::Status CheckSums(const Metric& metric, absl::string_view producer,
                       const std::vector<std::string>& sums) {
  const auto gives = [&](const std::string& name) {
    return std::find(sums.begin(), sums.end(), name) != sums.end();
  };
  std::vector<std::string> missing, possible;
  for (const std::string& name : metric.traits().sums) {
    if (!gives(name)) missing.push_back(name);
  }
  if (missing.empty()) return absl::OkStatus();
  for (const auto& [name, other] : AllMetrics()) {
    const std::vector<std::string>& needed = other->traits().sums;
    if (std::all_of(needed.begin(), needed.end(), gives)) possible.push_back(name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the metric ", metric.name(), " needs ", absl::StrJoin(missing, " and "),
                   ", but ", producer, " counts ", absl::StrJoin(sums, ", "),
                   " only; metrics that it can give: ", absl::StrJoin(possible, ", ")));
}

absl::StatusOr<ExampleSums> ScoreGuesses(const Metric& metric, const Guesses& guesses) {
  ExampleSums all;
  for (const std::string& name : ScorersOf(metric)) {
    LRA_ASSIGN_OR_RETURN(ExampleSums sums, MakeScorer(name)->Score(guesses));
    all.counts.merge(sums.counts);
    all.totals.merge(sums.totals);
  }
  return all;
}

std::vector<std::string> ScoredSums(const Metric& metric) {
  std::vector<std::string> names;
  for (const std::string& scorer : ScorersOf(metric)) {
    for (std::string& name : MakeScorer(scorer)->sums()) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace lra
