#include "eval/bars.h"

#include <algorithm>
#include <map>
#include <utility>

#include "eval/baseline_record.h"
#include "eval/run_record.h"

namespace lra {
namespace {

// Three-valued "and": one no decides, and an unknown is stronger than a yes.
std::optional<bool> And(std::optional<bool> a, std::optional<bool> b) {
  if (a == std::optional<bool>(false) || b == std::optional<bool>(false)) return false;
  return a.has_value() && b.has_value() ? std::optional<bool>(true) : std::nullopt;
}

bool IsMajority(const Bar& bar) { return bar.method == kMajorityMethod; }

// Keeps the last, which is the strongest, of each ladder.
std::vector<std::string> StrongestNames(const std::vector<const Bar*>& above) {
  std::map<std::string, const Bar*> last;
  for (const Bar* bar : above) {
    if (!bar->bar.ladder().empty()) last[bar->bar.ladder()] = bar;
  }
  std::vector<std::string> names;
  for (const Bar* bar : above) {
    const auto highest = last.find(bar->bar.ladder());
    if (highest != last.end() && highest->second != bar) continue;
    if (IsMajority(*bar) && above.size() > 1) continue;
    names.push_back(bar->bar.name());
  }
  return names;
}

}  // namespace

BaselineBar BarOf(const RunRecord& baseline) {
  if (baseline.has_bar()) return baseline.bar();
  BaselineBar bar;
  bar.set_name(baseline.method());
  bar.set_ignores(baseline.description());
  bar.set_is_required(true);
  return bar;
}

std::vector<Bar> BarsOf(absl::Span<const RunRecord* const> records, absl::string_view split,
                        const Metric& metric) {
  std::vector<Bar> bars;
  for (const RunRecord* record : records) {
    const SplitResult* result =
        record->kind() == RunRecord::BASELINE ? FindResult(*record, split) : nullptr;
    if (result == nullptr) continue;
    bars.push_back({BarOf(*record), record->method(), metric.Value(result->sums()), record});
  }
  std::stable_sort(bars.begin(), bars.end(), [&metric](const Bar& a, const Bar& b) {
    return metric.Better(b.value, a.value);
  });
  return bars;
}

IsAbove AboveInEveryRun(std::vector<Sums> runs, const Metric& metric, double confidence) {
  return [runs = std::move(runs), &metric, confidence](const Bar& bar) {
    std::optional<bool> all;
    for (const Sums& run : runs) {
      const std::optional<bool> one = metric.ClearlyBetter(run, bar.value, confidence);
      all = &run == &runs.front() ? one : And(all, one);
    }
    return all;
  };
}

BarsAbove JudgeBars(absl::Span<const Bar> bars, const IsAbove& is_above) {
  std::vector<const Bar*> above;
  std::optional<bool> all_required = true;
  bool has_required = false;
  for (const Bar& bar : bars) {
    const std::optional<bool> one = is_above(bar);
    if (one == std::optional<bool>(true)) above.push_back(&bar);
    if (!bar.bar.is_required()) continue;
    all_required = And(all_required, one);
    has_required = has_required || !IsMajority(bar);
  }
  BarsAbove result;
  result.names = StrongestNames(above);
  const bool is_decided = has_required || all_required == std::optional<bool>(false);
  if (is_decided) result.learned = all_required;
  return result;
}

}  // namespace lra
