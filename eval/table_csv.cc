// Leaderboards for programs: CSV, one line a cell.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "eval/published.h"
#include "eval/table_writer.h"

namespace lra::internal {
namespace {

// A line by the names of its columns; those that it lacks are empty.
using CsvRow = std::map<std::string, std::string>;

constexpr char kCsvColumns[] =
    "table,kind,method,label,task,split,value,low,high,interval,confidence,seeds,runs,trained,"
    "missing,examples,letters,learned,runs_above,learned_p,learned_p_corrected,all_runs,"
    "all_runs_low,all_runs_high,last_value,early_stopped_runs,pretrain_steps,pretrain_examples,"
    "parameter_excess_percent,tuning,source,metric,unit,evidence_class,core_hours,joules,device_"
    "hours,starts_from";

// RFC 4180: quoted where needed, quotes doubled.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string CsvLine(const CsvRow& row) {
  std::vector<std::string> fields;
  for (const absl::string_view column : absl::StrSplit(kCsvColumns, ',')) {
    const auto it = row.find(std::string(column));
    fields.push_back(it == row.end() ? "" : CsvField(it->second));
  }
  return absl::StrCat(absl::StrJoin(fields, ","), "\n");
}

// Two decimals more than people are shown; empty for what is not known.
std::string Exact(const Metric& metric, double value) {
  return std::isnan(value) ? "" : metric.Number(value, 2);
}

void SetEnds(const Metric& metric, const std::string& prefix, const Interval& interval,
             CsvRow* line) {
  (*line)[absl::StrCat(prefix, "low")] = Exact(metric, interval.low);
  (*line)[absl::StrCat(prefix, "high")] = Exact(metric, interval.high);
}

CsvRow MeasuredRow(const LeaderboardTable& table, const LeaderboardRow& row,
                   const std::string& number, const LeaderboardOptions& options) {
  return {{"table", number},
          {"kind", KindName(row.kind)},
          {"method", row.method},
          {"label", row.label},
          {"split", options.split},
          {"metric", table.metric->name()},
          {"unit", table.metric->traits().unit}};
}

void FillLearned(const LearnedCell& learned, CsvRow* line) {
  (*line)["learned"] = VerdictName(learned.verdict);
  if (learned.runs_above) (*line)["runs_above"] = absl::StrCat(*learned.runs_above);
  if (learned.p) (*line)["learned_p"] = absl::StrCat(*learned.p);
  if (learned.corrected_p) (*line)["learned_p_corrected"] = absl::StrCat(*learned.corrected_p);
}

void FillCircumstances(const Metric& metric, const LeaderboardCell& cell, CsvRow* line) {
  if (cell.last_value) (*line)["last_value"] = Exact(metric, *cell.last_value);
  (*line)["early_stopped_runs"] = absl::StrCat(cell.early_stopped_runs);
  (*line)["pretrain_steps"] = absl::StrCat(cell.pretrain_steps);
  (*line)["pretrain_examples"] = absl::StrCat(cell.pretrain_examples);
  if (cell.parameter_excess)
    (*line)["parameter_excess_percent"] = absl::StrFormat("%.4f", 100 * *cell.parameter_excess);
  (*line)["starts_from"] = absl::StrJoin(cell.starts, ";", absl::PairFormatter(": "));
  (*line)["tuning"] = cell.tuning;
  if (cell.core_hours) (*line)["core_hours"] = absl::StrFormat("%.6g", *cell.core_hours);
  if (cell.joules) (*line)["joules"] = absl::StrFormat("%.6g", *cell.joules);
  if (cell.device_hours) (*line)["device_hours"] = absl::StrFormat("%.6g", *cell.device_hours);
}

void FillCell(const Metric& metric, const LeaderboardCell& cell, double confidence, CsvRow* line) {
  (*line)["value"] = Exact(metric, cell.value);
  if (cell.interval) SetEnds(metric, "", *cell.interval, line);
  (*line)["interval"] = cell.method;
  (*line)["confidence"] = absl::StrCat(confidence);
  (*line)["seeds"] = absl::StrJoin(cell.seeds, ";");
  (*line)["runs"] = absl::StrCat(cell.runs());
  (*line)["trained"] = absl::StrCat(cell.trained);
  (*line)["missing"] = absl::StrCat(cell.missing);
  (*line)["examples"] = absl::StrCat(cell.examples);
  (*line)["letters"] = cell.letters;
  FillLearned(cell.learned, line);
  if (cell.all_runs) {
    (*line)["all_runs"] = Exact(metric, cell.all_runs->mean);
    SetEnds(metric, "all_runs_", cell.all_runs->interval, line);
  }
  FillCircumstances(metric, cell, line);
}

std::string AverageMethod(const LeaderboardRow& row) {
  if (!row.average_interval) return "none";
  return row.average_has_single_runs ? "average with cells of one run" : "average";
}

void AppendMeasured(const LeaderboardTable& table, const std::string& number,
                    const LeaderboardOptions& options, std::string* text) {
  for (const LeaderboardRow& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      if (!row.cells[c]) continue;
      CsvRow line = MeasuredRow(table, row, number, options);
      line["task"] = table.tasks[c];
      line["unit"] = table.metric_of(c).traits().unit;
      FillCell(*table.metric, *row.cells[c], options.confidence, &line);
      *text += CsvLine(line);
    }
    if (!row.average) continue;
    CsvRow line = MeasuredRow(table, row, number, options);
    line["task"] = "average";
    line["value"] = Exact(*table.metric, *row.average);
    if (row.average_interval) SetEnds(*table.metric, "", *row.average_interval, &line);
    line["interval"] = AverageMethod(row);
    line["confidence"] = absl::StrCat(options.confidence);
    *text += CsvLine(line);
  }
}

// What a published number and ours beside it have in common.
CsvRow PublishedLine(const std::string& number, const PublishedRows& published,
                     const PublishedRow& row, const std::string& task, const Metric& metric) {
  return {{"table", number},
          {"method", row.method()},
          {"task", task},
          {"source", published.table.name()},
          {"metric", metric.name()},
          {"unit", metric.traits().unit},
          {"evidence_class", EvidenceOf(published.table, row)}};
}

void AppendPrinted(const PublishedRow& row, double value, CsvRow line, std::string* text) {
  line["kind"] = "published";
  line["label"] = row.label();
  line["value"] = absl::StrCat(value);
  *text += CsvLine(line);
}

void AppendDifference(const Metric& metric, const std::string& label,
                      const std::optional<PublishedDifference>& difference,
                      const LeaderboardOptions& options, CsvRow line, std::string* text) {
  if (!difference) return;
  line["kind"] = "difference";
  line["label"] = label;
  line["split"] = options.split;
  line["value"] = Exact(metric, difference->value);
  if (difference->interval) SetEnds(metric, "", *difference->interval, &line);
  line["confidence"] = absl::StrCat(options.confidence);
  *text += CsvLine(line);
}

void AppendPublished(const LeaderboardTable& table, const std::string& number,
                     const LeaderboardOptions& options, std::string* text) {
  for (const PublishedRows& published : table.published) {
    for (const PublishedRows::Row& row : published.rows) {
      const auto line = [&](size_t c) {
        return PublishedLine(number, published, row.row, table.tasks[c], table.metric_of(c));
      };
      const CsvRow average = PublishedLine(number, published, row.row, "average", *table.metric);
      for (size_t c = 0; c < row.cells.size(); ++c) {
        if (row.cells[c] && !row.cells[c]->is_failed())
          AppendPrinted(row.row, row.cells[c]->value(), line(c), text);
      }
      if (row.average) AppendPrinted(row.row, *row.average, average, text);
      for (const PublishedRows::Beside& ours : row.ours) {
        for (size_t c = 0; c < ours.cells.size(); ++c)
          AppendDifference(*table.metric, ours.label, ours.cells[c], options, line(c), text);
        AppendDifference(*table.metric, ours.label, ours.average, options, average, text);
      }
    }
  }
}

}  // namespace

// Numbers only; notes and runs that were left out are in the other formats.
std::string WriteCsv(const Leaderboard& board) {
  std::string text = absl::StrCat(kCsvColumns, "\n");
  for (size_t t = 0; t < board.tables.size(); ++t) {
    AppendMeasured(board.tables[t], absl::StrCat(t + 1), board.options, &text);
    AppendPublished(board.tables[t], absl::StrCat(t + 1), board.options, &text);
  }
  return text;
}

}  // namespace lra::internal
