#include "report/efficiency_part.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "bench/efficiency_series.h"
#include "bench/record_file.h"
#include "eval/run_record.h"
#include "eval/table_html.h"
#include "lra/files.h"
#include "report/thin_curve.h"

namespace lra {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Files of a run, whose curve.jsonl is another thing, are its own.
bool IsRun(const fs::path& directory) {
  return FileExists((directory / kRecordFile).string()) ||
         FileExists((directory / "curve.jsonl").string());
}

std::set<std::string> CellFiles(const std::vector<std::string>& folders) {
  std::set<std::string> files;
  for (const std::string& folder : folders) {
    if (IsRun(folder)) continue;
    std::error_code error;
    fs::recursive_directory_iterator it(folder, error), end;
    for (; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      if (it->is_directory(ignored) && IsRun(it->path())) it.disable_recursion_pending();
      if (it->path().extension() == ".jsonl") files.insert(it->path().lexically_normal().string());
    }
  }
  return files;
}

std::string Html(const TextTable& table) {
  if (table.rows.empty()) return "";
  std::string text = absl::StrCat(
      "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"", EscapeHtml(table.title),
      "\">\n<table>\n<caption><span>", EscapeHtml(table.title), "</span></caption>\n<thead><tr>");
  for (const std::string& head : table.header)
    absl::StrAppend(&text, "<th scope=\"col\">", EscapeHtml(head), "</th>");
  absl::StrAppend(&text, "</tr></thead>\n<tbody>\n");
  for (const std::vector<std::string>& row : table.rows) {
    absl::StrAppend(&text, "<tr>");
    for (size_t c = 0; c < row.size(); ++c) {
      absl::StrAppend(&text, c == 0 ? "<th scope=\"row\">" : "<td>", EscapeHtml(row[c]),
                      c == 0 ? "</th>" : "</td>");
    }
    absl::StrAppend(&text, "</tr>\n");
  }
  return absl::StrCat(text, "</tbody>\n</table>\n</div>\n");
}

Json PointsJson(const std::vector<LengthPoint>& points) {
  Json json = Json::array();
  for (const LengthPoint& point : points)
    json.push_back({ShortNumber(point.tokens), ShortNumber(point.value)});
  return json;
}

Json PanelJson(const Panel& panel) {
  Json series = Json::array();
  for (const Series& one : panel.series) {
    series.push_back({{"label", one.label},
                      {"time", PointsJson(TimePoints(one))},
                      {"memory", PointsJson(MemoryPoints(one))}});
  }
  return {{"title", panel.title}, {"series", std::move(series)}};
}

}  // namespace

EfficiencyPart ReadEfficiency(const std::vector<std::string>& folders,
                              std::vector<std::string>* problems) {
  std::vector<BenchRecord> records;
  for (const std::string& path : CellFiles(folders)) {
    const auto read = ReadRecordFile(path);
    if (!read.ok()) {
      problems->emplace_back(read.status().message());
      continue;
    }
    records.insert(records.end(), read->begin(), read->end());
  }
  EfficiencyPart part;
  for (const Panel& panel : GroupPanels(records)) {
    absl::StrAppend(&part.html, "<div class=\"panel\"></div>\n",
                    Html(TimeTable(panel.title, panel.series)),
                    Html(MemoryTable(panel.title, panel.series)),
                    Html(CrossoverTable(panel.title, panel.series)));
    part.panels.push_back(PanelJson(panel));
  }
  return part;
}

}  // namespace lra
