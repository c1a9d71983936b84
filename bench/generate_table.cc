// What `lra bench generate` prints.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/cell.h"
#include "bench/efficiency_table.h"

namespace lra {
namespace {

std::vector<std::string> TokenRow(const BenchRecord& record) {
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
  row.push_back(absl::StrCat(Milliseconds(quartiles.low), " – ", Milliseconds(quartiles.high)));
  // Records of older builds do not say it.
  row.push_back(result.recompute_seconds() > 0 ? Milliseconds(result.recompute_seconds()) : "–");
  row.push_back(Megabytes(double(result.state_bytes())));
  row.push_back(
      result.minimum_bytes() == 0
          ? "–"
          : absl::StrFormat("%.2f", double(result.state_bytes()) / double(result.minimum_bytes())));
  return row;
}

}  // namespace

std::string GenerateText(const std::vector<BenchRecord>& records) {
  std::string text;
  for (const Panel& panel : GroupPanels(records)) {
    TextTable table = {absl::StrCat(panel.title, ", after N tokens"),
                       {"attention", "N", "ms a token", "quartiles", "recomputed, ms", "state MB",
                        "times the least state"},
                       {}};
    for (const Series& series : panel.series) {
      for (const BenchRecord& record : series.cells) table.rows.push_back(TokenRow(record));
    }
    absl::StrAppend(&text, ToMarkdown(table), "\n");
  }
  if (!records.empty()) absl::StrAppend(&text, DescribeBenchMachine(records[0].machine()), "\n");
  return text;
}

}  // namespace lra
