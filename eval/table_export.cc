// Leaderboards for programs: CSV, one line a cell, and JSON.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "eval/published.h"
#include "eval/table_writer.h"
#include "lra/json_text.h"

namespace lra::internal {
namespace {

using Json = nlohmann::ordered_json;

std::string VerdictName(Verdict verdict) {
  return verdict == Verdict::kUnknown ? "unknown" : verdict == Verdict::kYes ? "yes" : "no";
}

// --- CSV ---

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

// --- JSON ---

// An interval as an object; null where an end is not known.
Json IntervalJson(const Interval& interval) {
  if (std::isnan(interval.low)) return nullptr;
  return {{"low", interval.low}, {"high", interval.high}};
}

Json StatisticsJson(const LeaderboardCell& cell) {
  Json json = Json::object();
  if (cell.moments) {
    json["msa"] = cell.moments->msa;
    json["msb"] = cell.moments->msb;
    json["mse"] = cell.moments->mse;
  }
  if (cell.estimate) {
    json["seed_variance"] = cell.estimate->seed_variance;
    json["example_variance"] = cell.estimate->example_variance;
    if (!std::isinf(cell.estimate->seed_degrees)) json["nu"] = cell.estimate->seed_degrees;
  }
  return json;
}

Json LearnedJson(const LearnedCell& learned) {
  Json json = {{"verdict", VerdictName(learned.verdict)}};
  if (!learned.above.empty()) json["above"] = learned.above;
  if (learned.runs_above) json["runs_above"] = *learned.runs_above;
  if (learned.p) json["p"] = *learned.p;
  if (learned.corrected_p) json["p_corrected"] = *learned.corrected_p;
  return json;
}

// The value's key is the metric's name.
Json CellJson(const Metric& metric, const LeaderboardCell& cell) {
  Json json = Json::object();
  json[metric.name()] = std::isnan(cell.value) ? Json(nullptr) : Json(cell.value);
  if (cell.interval) json.update(IntervalJson(*cell.interval));
  json["interval"] = cell.method;
  json["seeds"] = cell.seeds;
  json["runs_counted"] = cell.runs();
  json["runs_trained"] = cell.trained;
  json["runs_missing"] = cell.missing;
  json["examples"] = cell.examples;
  if (!cell.letters.empty()) json["letters"] = cell.letters;
  json["learned"] = LearnedJson(cell.learned);
  if (cell.all_runs) {
    json["all_runs"] = {{metric.name(), cell.all_runs->mean},
                        {"interval", IntervalJson(cell.all_runs->interval)}};
  }
  json["statistics"] = StatisticsJson(cell);
  json["runs"] = cell.directories;
  if (cell.last_value) json[absl::StrCat("last_", metric.name())] = *cell.last_value;
  if (cell.early_stopped_runs > 0) json["early_stopped_runs"] = cell.early_stopped_runs;
  if (cell.pretrain_steps > 0) json["pretrain_steps"] = cell.pretrain_steps;
  if (cell.pretrain_examples > 0) json["pretrain_examples"] = cell.pretrain_examples;
  for (const auto& [start, runs] : cell.starts) json["starts_from"][start] = runs;
  if (cell.parameter_excess) json["parameter_excess"] = *cell.parameter_excess;
  if (cell.core_hours) json["core_hours"] = *cell.core_hours;
  if (cell.device_hours) json["device_hours"] = *cell.device_hours;
  if (cell.joules) json["joules"] = *cell.joules;
  if (!cell.tuning.empty()) json["tuning"] = cell.tuning;
  return json;
}

Json ComparisonJson(const TableComparison& comparison) {
  const RowDifference& difference = comparison.difference;
  Json json = {{"task", comparison.task},
               {"a", comparison.a},
               {"b", comparison.b},
               {"difference", difference.estimate.mean},
               {"low", difference.interval.low},
               {"high", difference.interval.high},
               {"p", difference.p},
               {"p_corrected", comparison.corrected_p},
               {"told_apart", comparison.is_told_apart},
               {"method", difference.method}};
  if (!std::isinf(difference.estimate.seed_degrees)) json["nu"] = difference.estimate.seed_degrees;
  if (comparison.learn_rate_p) json["learn_rate_p"] = *comparison.learn_rate_p;
  return json;
}

Json RowJson(const LeaderboardRow& row, const LeaderboardTable& table) {
  const std::vector<std::string>& tasks = table.tasks;
  Json cells = Json::object();
  for (size_t c = 0; c < tasks.size(); ++c) {
    if (row.cells[c]) cells[tasks[c]] = CellJson(*table.metric, *row.cells[c]);
  }
  Json json = {{"kind", KindName(row.kind)},
               {"method", row.method},
               {"label", row.label},
               {"cells", std::move(cells)}};
  if (row.average) {
    json["average"] = *row.average;
    json["average_has_single_runs"] = row.average_has_single_runs;
  }
  if (row.average_interval) json["average_interval"] = IntervalJson(*row.average_interval);
  if (!row.missing_tasks.empty()) json["missing_tasks"] = row.missing_tasks;
  if (!row.unranked_tasks.empty()) json["unranked_tasks"] = row.unranked_tasks;
  return json;
}

// In the metric's own scale, as values of cells are: accuracy as a fraction.
Json DifferenceJson(const PublishedDifference& difference) {
  Json json = {{"difference", difference.value}};
  if (difference.interval) json.update(IntervalJson(*difference.interval));
  return json;
}

Json BesideJson(const PublishedRows::Beside& ours, const std::vector<std::string>& tasks) {
  Json json = {{"label", ours.label}, {"cells", Json::object()}};
  for (size_t c = 0; c < tasks.size(); ++c) {
    if (ours.cells[c]) json["cells"][tasks[c]] = DifferenceJson(*ours.cells[c]);
  }
  if (ours.average) json["average"] = DifferenceJson(*ours.average);
  return json;
}

Json PublishedRowJson(const PublishedTable& source, const PublishedRows::Row& row,
                      const std::vector<std::string>& tasks) {
  Json values = Json::object(), spreads = Json::object(), failed = Json::array();
  for (size_t c = 0; c < tasks.size(); ++c) {
    if (!row.cells[c]) continue;
    if (row.cells[c]->is_failed()) failed.push_back(tasks[c]);
    if (!row.cells[c]->is_failed()) values[tasks[c]] = row.cells[c]->value();
    if (row.cells[c]->has_spread()) spreads[tasks[c]] = row.cells[c]->spread();
  }
  Json json = {{"method", row.row.method()},
               {"label", row.row.label()},
               {"evidence_class", EvidenceOf(source, row.row)},
               {"values", std::move(values)}};
  if (!spreads.empty()) json["spreads"] = std::move(spreads);
  if (!failed.empty()) json["failed"] = std::move(failed);
  if (row.average) json["average"] = *row.average;
  if (!row.row.source().empty()) json["source"] = row.row.source();
  if (!row.row.note().empty()) json["note"] = row.row.note();
  for (const PublishedRows::Beside& ours : row.ours)
    json["ours_minus_published"].push_back(BesideJson(ours, tasks));
  return json;
}

// Values are as printed, in `unit`.
Json PublishedJson(const PublishedRows& published, const LeaderboardTable& table) {
  const PublishedTable& source = published.table;
  Json rows = Json::array();
  for (const PublishedRows::Row& row : published.rows)
    rows.push_back(PublishedRowJson(source, row, table.tasks));
  return {{"name", source.name()},
          {"source", source.source()},
          {"item", source.item()},
          {"protocol", source.protocol()},
          {"evidence_class", source.evidence_class()},
          {"unit", table.metric->traits().unit},
          {"spread", source.spread()},
          {"note", source.note()},
          {"rows", std::move(rows)}};
}

Json TableJson(const LeaderboardTable& table) {
  Json json = {{"metric", table.metric->name()}, {"tasks", table.tasks},
               {"differs", table.differs},       {"builds", table.builds},
               {"rows", Json::array()},          {"comparisons", Json::array()},
               {"published", Json::array()},     {"notes", table.notes}};
  for (const LeaderboardRow& row : table.rows) json["rows"].push_back(RowJson(row, table));
  for (const TableComparison& comparison : table.comparisons)
    json["comparisons"].push_back(ComparisonJson(comparison));
  for (const PublishedRows& rows : table.published)
    json["published"].push_back(PublishedJson(rows, table));
  return json;
}

}  // namespace

std::string KindName(RunRecord::Kind kind) {
  switch (kind) {
    case RunRecord::BASELINE:
      return "baseline";
    case RunRecord::EXTERNAL:
      return "external";
    default:
      return "measured";
  }
}

// Numbers only; notes and runs that were left out are in the other formats.
std::string WriteCsv(const Leaderboard& board) {
  std::string text = absl::StrCat(kCsvColumns, "\n");
  for (size_t t = 0; t < board.tables.size(); ++t) {
    AppendMeasured(board.tables[t], absl::StrCat(t + 1), board.options, &text);
    AppendPublished(board.tables[t], absl::StrCat(t + 1), board.options, &text);
  }
  return text;
}

std::string WriteJson(const Leaderboard& board) {
  Json json = {{"split", board.options.split},
               {"confidence", board.options.confidence},
               {"tables", Json::array()},
               {"legend", Legend(board)},
               {"left_out", board.left_out}};
  for (const LeaderboardTable& table : board.tables) json["tables"].push_back(TableJson(table));
  return JsonText(json) + "\n";
}

}  // namespace lra::internal
