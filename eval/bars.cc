#include "eval/bars.h"

#include <algorithm>
#include <map>

#include "eval/baseline_record.h"
#include "eval/run_record.h"

namespace lra {
namespace {

bool IsMajority(const Bar& bar) { return IsMereGuess(bar.method); }

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
    // Folders of several suites may each have a record of the baseline.
    if (std::find(names.begin(), names.end(), bar->bar.name()) != names.end()) continue;
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

std::vector<std::string> BarsAbove(absl::Span<const Bar> bars, const AboveBar& is_above) {
  std::vector<const Bar*> above;
  for (const Bar& bar : bars) {
    if (is_above(bar).value_or(false)) above.push_back(&bar);
  }
  return StrongestNames(above);
}

}  // namespace lra
