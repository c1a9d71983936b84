#include "bench/report.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "bench/cell.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

// Letters of a UTF-8 text.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool IsNumeric(const std::string& text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-');
}

std::string Padded(const std::string& text, size_t width, bool is_right) {
  const std::string space(width - std::min(width, WidthOf(text)), ' ');
  return is_right ? space + text : text + space;
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string ToMarkdown(const TextTable& table) {
  std::vector<size_t> widths;
  for (const std::string& name : table.header) widths.push_back(std::max<size_t>(3, WidthOf(name)));
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i]));
  }
  std::string text = table.title.empty() ? "" : absl::StrCat(table.title, "\n\n");
  const auto add = [&](const std::vector<std::string>& row) {
    for (size_t i = 0; i < table.header.size(); ++i) {
      const std::string cell = i < row.size() ? row[i] : "";
      absl::StrAppend(&text, "| ", Padded(cell, widths[i], i > 0 && IsNumeric(cell)), " ");
    }
    absl::StrAppend(&text, "|\n");
  };
  add(table.header);
  for (const size_t width : widths) absl::StrAppend(&text, "|", std::string(width + 2, '-'));
  absl::StrAppend(&text, "|\n");
  for (const auto& row : table.rows) add(row);
  return text;
}

std::string ToCsv(const TextTable& table) {
  std::string text = "table";
  for (const std::string& name : table.header) absl::StrAppend(&text, ",", CsvField(name));
  absl::StrAppend(&text, "\n");
  for (const auto& row : table.rows) {
    absl::StrAppend(&text, CsvField(table.title));
    for (const std::string& cell : row) absl::StrAppend(&text, ",", CsvField(cell));
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string WithInterval(const MedianInterval& interval, double scale, int digits) {
  return absl::StrFormat("%.*f (%.*f – %.*f)", digits, interval.median * scale, digits,
                         interval.low * scale, digits, interval.high * scale);
}

std::string Megabytes(double bytes) {
  return absl::StrFormat("%.*f", bytes < 1e7 ? 2 : bytes < 1e8 ? 1 : 0, bytes / 1e6);
}

std::string Milliseconds(double seconds) {
  const double ms = seconds * 1e3;
  return absl::StrFormat("%.*f", ms < 0.1 ? 4 : ms < 1 ? 3 : ms < 10 ? 2 : ms < 1000 ? 1 : 0, ms);
}

std::string OutcomeText(const BenchResult& result) {
  switch (result.outcome()) {
    case BenchResult::OUT_OF_MEMORY:
      return "out of memory";
    case BenchResult::SKIPPED:
      return "skipped";
    case BenchResult::FAILED:
      return "failed";
    default:
      return "–";
  }
}

nlohmann::ordered_json ToJsonValue(const google::protobuf::Message& message) {
  return nlohmann::ordered_json::parse(ToJsonLine(message));
}

nlohmann::ordered_json ToJsonValue(const MedianInterval& interval) {
  return {{"median", interval.median},
          {"low", interval.low},
          {"high", interval.high},
          {"coverage", interval.coverage}};
}

}  // namespace lra
