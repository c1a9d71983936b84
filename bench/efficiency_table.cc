#include "bench/efficiency_table.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "bench/cell.h"
#include "bench/published_speeds.h"
#include "lra/json_text.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

std::vector<TextTable> TablesOf(const Panel& panel) {
  if (panel.series.front().cells.front().request().mode() == BenchRequest::STREAMING)
    return {StreamTable(panel)};
  std::vector<TextTable> tables = {
      TimeTable(absl::StrCat(panel.title, ": milliseconds"), panel.series)};
  tables.push_back(MemoryTable(
      absl::StrCat(panel.title, ": megabytes of tensors (times the least that it needs)"),
      panel.series));
  tables.push_back(
      ReachedTable(absl::StrCat(panel.title, ": reached, of the bound that the measured peaks set"),
                   panel.series));
  tables.push_back(CrossoverTable(absl::StrCat(panel.title, ": crossings"), panel.series));
  return tables;
}

std::string Machines(const std::vector<BenchRecord>& records) {
  std::set<std::string> machines;
  for (const BenchRecord& record : records) machines.insert(DescribeBenchMachine(record.machine()));
  std::string text;
  for (const std::string& machine : machines) absl::StrAppend(&text, machine, "\n");
  return text;
}

}  // namespace

absl::StatusOr<std::string> EfficiencyText(const std::vector<BenchRecord>& records,
                                           const EfficiencyTableChoice& choice) {
  std::vector<PublishedSpeeds> published;
  for (const std::string& name : choice.published) {
    LRA_ASSIGN_OR_RETURN(published.emplace_back(), LoadPublishedSpeeds(name));
  }
  std::string text;
  const auto add = [&](const TextTable& table) {
    if (table.rows.empty()) return;
    absl::StrAppend(&text, choice.is_csv ? ToCsv(table) : ToMarkdown(table), "\n");
  };
  for (const Panel& panel : GroupPanels(records)) {
    for (const TextTable& table : TablesOf(panel)) add(table);
    for (const PublishedSpeeds& speeds : published)
      add(PublishedSpeedsTable(speeds, panel, choice.reference));
  }
  return choice.is_csv ? text : text + Machines(records);
}

std::string RecordsJson(const std::vector<BenchRecord>& records) {
  nlohmann::ordered_json json = {{"records", nlohmann::ordered_json::array()}};
  for (const BenchRecord& record : records) json["records"].push_back(ToJsonValue(record));
  return JsonText(json) + "\n";
}

}  // namespace lra
