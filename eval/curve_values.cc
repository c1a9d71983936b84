#include "eval/curve_values.h"

#include <algorithm>

namespace lra {

std::optional<double> FindValue(const MetricValues& values, absl::string_view metric) {
  const auto it = values.find(std::string(metric));
  return it == values.end() ? std::nullopt : std::optional<double>(it->second);
}

void SetValues(absl::Span<const Metric* const> metrics, const Sums& sums, MetricValues* values) {
  for (const Metric* metric : metrics) {
    const std::vector<std::string>& needed = metric->traits().sums;
    const bool is_known = std::all_of(needed.begin(), needed.end(),
                                      [&](const std::string& name) { return HasSum(sums, name); });
    if (is_known) (*values)[metric->name()] = metric->Value(sums);
  }
}

const CurvePoint* BestPoint(const RunRecord& run, const Metric& metric) {
  const CurvePoint* best = nullptr;
  double best_value = 0;
  for (const CurvePoint& point : run.curve()) {
    const std::optional<double> value = FindValue(point.validation(), metric.name());
    if (!value || (best != nullptr && !metric.Better(*value, best_value))) continue;
    best = &point;
    best_value = *value;
  }
  return best;
}

}  // namespace lra
