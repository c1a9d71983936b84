// What `lra bench generate` prints.
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/cell.h"
#include "bench/efficiency_table.h"

namespace lra {
namespace {

// `first` is the median of the series' first measured cell; 0 without one.
std::vector<std::string> TokenRow(const BenchRecord& record, double first) {
  const BenchResult& result = record.result();
  std::vector<std::string> row = {MethodLabel(record.request()),
                                  absl::StrCat(record.request().tokens())};
  if (result.outcome() != BenchResult::MEASURED) {
    row.push_back(absl::StrCat(OutcomeText(result), " ", result.reason()));
    return row;
  }
  const auto& seconds = result.passes().seconds();
  const std::vector<double> tokens(seconds.begin(), seconds.end());
  const Interval quartiles = Quartiles(tokens);
  row.push_back(Milliseconds(MedianOf(tokens)));
  row.push_back(first > 0 ? absl::StrFormat("%.2f", MedianOf(tokens) / first) : "–");
  row.push_back(absl::StrCat(Milliseconds(quartiles.low), " – ", Milliseconds(quartiles.high)));
  row.push_back(absl::StrCat(tokens.size()));
  row.push_back(absl::StrFormat("%.3g", std::accumulate(tokens.begin(), tokens.end(), 0.0)));
  // Not of the first token, and records of older builds do not say it.
  row.push_back(result.recompute_seconds() > 0 ? Milliseconds(result.recompute_seconds()) : "–");
  row.push_back(Megabytes(double(result.state_bytes())));
  row.push_back(
      result.minimum_bytes() == 0
          ? "–"
          : absl::StrFormat("%.2f", double(result.state_bytes()) / double(result.minimum_bytes())));
  return row;
}

}  // namespace

TextTable StreamTable(const Panel& panel) {
  TextTable table = {
      absl::StrCat(panel.title, ", after N tokens"),
      {"attention", "N", "ms a token", "times that of the first N", "quartiles", "timed tokens",
       "s together", "recomputed, ms", "state MB", "times the least state"},
      {}};
  for (const Series& series : panel.series) {
    const std::vector<LengthPoint> points = TimePoints(series);
    const double first = points.empty() ? 0 : points.front().value;
    for (const BenchRecord& record : series.cells) table.rows.push_back(TokenRow(record, first));
  }
  return table;
}

std::string GenerateText(const std::vector<BenchRecord>& records) {
  std::string text;
  for (const Panel& panel : GroupPanels(records))
    absl::StrAppend(&text, ToMarkdown(StreamTable(panel)), "\n");
  if (!records.empty()) absl::StrAppend(&text, DescribeBenchMachine(records[0].machine()), "\n");
  return text;
}

}  // namespace lra
