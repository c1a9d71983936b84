#include "report/efficiency_part.h"

#include "absl/strings/str_cat.h"
#include "bench/efficiency_series.h"
#include "bench/record_file.h"
#include "report/folder_files.h"
#include "report/thin_curve.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

std::string Html(const TextTable& table) {
  return HtmlTextTable(table.title, table.header, table.rows);
}

Json PointsJson(const std::vector<LengthPoint>& points) {
  Json json = Json::array();
  for (const LengthPoint& point : points)
    json.push_back({ShortNumber(point.at), ShortNumber(point.value)});
  return json;
}

Json PanelJson(const Panel& panel) {
  Json series = Json::array();
  for (const Series& one : panel.series) {
    series.push_back({{"label", one.label},
                      {"time", PointsJson(TimePoints(one))},
                      {"memory", PointsJson(MemoryPoints(one))}});
  }
  const char* axis = panel.axis() == Axis::kTokens ? "tokens N" : "width D of a head";
  return {{"title", panel.title}, {"axis", axis}, {"series", std::move(series)}};
}

}  // namespace

EfficiencyPart ReadEfficiency(const std::vector<std::string>& folders,
                              std::vector<std::string>* problems) {
  std::vector<BenchRecord> records;
  for (const std::string& path : FilesOutsideRuns(folders, ".jsonl")) {
    const auto read = ReadRecordFile(path);
    if (!read.ok()) {
      problems->emplace_back(read.status().message());
      continue;
    }
    records.insert(records.end(), read->begin(), read->end());
  }
  EfficiencyPart part;
  for (const Panel& panel : GroupPanels(records)) {
    const auto titled = [&](const char* what) { return absl::StrCat(panel.title, ": ", what); };
    absl::StrAppend(&part.html, "<div class=\"panel\"></div>\n",
                    Html(TimeTable(titled("milliseconds"), panel.series)),
                    Html(MemoryTable(titled("peak MB"), panel.series)),
                    Html(CrossoverTable(titled("who is faster, and from where on"), panel.series)));
    part.panels.push_back(PanelJson(panel));
  }
  return part;
}

}  // namespace lra
