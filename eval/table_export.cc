// Leaderboards for programs: CSV, one line a cell, and JSON.
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "eval/table_writer.h"

namespace lra::internal {
namespace {

using Json = nlohmann::ordered_json;

std::string VerdictName(Verdict verdict) {
  return verdict == Verdict::kUnknown ? "unknown" : verdict == Verdict::kYes ? "yes" : "no";
}

std::string IntervalName(const LeaderboardCell& cell) {
  if (!cell.interval) return "none";
  return cell.seeds.size() == 1 ? "sampling only" : "over seeds";
}

// --- CSV ---

// A line in the order of kCsvHeader.
struct CsvRow {
  std::string table, kind, method, label, task, split, value, low, high, interval, confidence,
      seeds, examples, above_majority, learned, at_chance_runs, last_value, early_stopped_runs,
      pretrain_steps, parameter_excess_percent, tuning, source, metric, unit;
};

constexpr char kCsvHeader[] =
    "table,kind,method,label,task,split,value,low,high,interval,confidence,seeds,examples,"
    "above_majority,learned,at_chance_runs,last_value,early_stopped_runs,pretrain_steps,"
    "parameter_excess_percent,tuning,source,metric,unit\n";

// RFC 4180: quoted where needed, quotes doubled.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string CsvLine(const CsvRow& row) {
  const std::string* const fields[] = {&row.table,          &row.kind,
                                       &row.method,         &row.label,
                                       &row.task,           &row.split,
                                       &row.value,          &row.low,
                                       &row.high,           &row.interval,
                                       &row.confidence,     &row.seeds,
                                       &row.examples,       &row.above_majority,
                                       &row.learned,        &row.at_chance_runs,
                                       &row.last_value,     &row.early_stopped_runs,
                                       &row.pretrain_steps, &row.parameter_excess_percent,
                                       &row.tuning,         &row.source,
                                       &row.metric,         &row.unit};
  return absl::StrCat(
      absl::StrJoin(fields, ",",
                    [](std::string* out, const std::string* field) { *out += CsvField(*field); }),
      "\n");
}

// Two decimals more than people are shown.
std::string Exact(const Metric& metric, double value) { return metric.Number(value, 2); }

CsvRow MeasuredRow(const LeaderboardTable& table, const LeaderboardRow& row,
                   const std::string& number, const LeaderboardOptions& options) {
  return {.table = number,
          .kind = KindName(row.kind),
          .method = row.method,
          .label = row.label,
          .split = options.split,
          .metric = table.metric->name(),
          .unit = table.metric->traits().unit};
}

void FillCell(const Metric& metric, const LeaderboardCell& cell, double confidence, CsvRow* line) {
  line->value = Exact(metric, cell.value);
  if (cell.interval) {
    line->low = Exact(metric, cell.interval->low);
    line->high = Exact(metric, cell.interval->high);
  }
  line->interval = IntervalName(cell);
  line->confidence = absl::StrCat(confidence);
  line->seeds = absl::StrJoin(cell.seeds, ";");
  line->examples = absl::StrCat(cell.examples);
  line->above_majority = VerdictName(cell.above_majority);
  line->learned = VerdictName(cell.learned);
  if (cell.at_chance_runs) line->at_chance_runs = absl::StrCat(*cell.at_chance_runs);
  if (cell.last_value) line->last_value = Exact(metric, *cell.last_value);
  line->early_stopped_runs = absl::StrCat(cell.early_stopped_runs);
  line->pretrain_steps = absl::StrCat(cell.pretrain_steps);
  if (cell.parameter_excess) {
    line->parameter_excess_percent = absl::StrFormat("%.4f", 100 * *cell.parameter_excess);
  }
  line->tuning = cell.tuning;
}

void AppendMeasured(const LeaderboardTable& table, const std::string& number,
                    const LeaderboardOptions& options, std::string* text) {
  for (const LeaderboardRow& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      if (!row.cells[c]) continue;
      CsvRow line = MeasuredRow(table, row, number, options);
      line.task = table.tasks[c];
      FillCell(*table.metric, *row.cells[c], options.confidence, &line);
      *text += CsvLine(line);
    }
    if (!row.average) continue;
    CsvRow line = MeasuredRow(table, row, number, options);
    line.task = "average";
    line.value = Exact(*table.metric, *row.average);
    *text += CsvLine(line);
  }
}

void AppendPublished(const LeaderboardTable& table, const std::string& number, std::string* text) {
  for (const PublishedRows& published : table.published) {
    const auto line = [&](const PublishedRows::Row& row, const std::string& task, double percent) {
      *text += CsvLine({.table = number,
                        .kind = "published",
                        .method = row.method,
                        .label = row.label,
                        .task = task,
                        .value = absl::StrCat(percent),
                        .source = published.table.name(),
                        .metric = table.metric->name(),
                        .unit = table.metric->traits().unit});
    };
    for (const PublishedRows::Row& row : published.rows) {
      for (size_t c = 0; c < row.percents.size(); ++c) {
        if (row.percents[c]) line(row, table.tasks[c], *row.percents[c]);
      }
      if (row.average_percent) line(row, "average", *row.average_percent);
    }
  }
}

// --- JSON ---

// The value's key is the metric's name.
Json CellJson(const Metric& metric, const LeaderboardCell& cell) {
  Json json = {{metric.name(), cell.value}};
  if (cell.interval) {
    json["low"] = cell.interval->low;
    json["high"] = cell.interval->high;
  }
  json["interval"] = IntervalName(cell);
  json["seeds"] = cell.seeds;
  json["examples"] = cell.examples;
  json["above_majority"] = VerdictName(cell.above_majority);
  json["learned"] = VerdictName(cell.learned);
  json["runs"] = cell.directories;
  if (cell.at_chance_runs) json["at_chance_runs"] = *cell.at_chance_runs;
  if (cell.last_value) json[absl::StrCat("last_", metric.name())] = *cell.last_value;
  if (cell.early_stopped_runs > 0) json["early_stopped_runs"] = cell.early_stopped_runs;
  if (cell.pretrain_steps > 0) json["pretrain_steps"] = cell.pretrain_steps;
  if (cell.parameter_excess) json["parameter_excess"] = *cell.parameter_excess;
  if (!cell.tuning.empty()) json["tuning"] = cell.tuning;
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
  if (row.average) json["average"] = *row.average;
  if (!row.missing_tasks.empty()) json["missing_tasks"] = row.missing_tasks;
  return json;
}

Json PublishedJson(const PublishedRows& published, const std::vector<std::string>& tasks) {
  const PublishedTable& source = published.table;
  Json rows = Json::array();
  for (const PublishedRows::Row& row : published.rows) {
    Json percents = Json::object();
    for (size_t c = 0; c < tasks.size(); ++c) {
      if (row.percents[c]) percents[tasks[c]] = *row.percents[c];
    }
    Json json = {{"method", row.method}, {"label", row.label}, {"percents", std::move(percents)}};
    if (row.average_percent) json["average_percent"] = *row.average_percent;
    if (!row.note.empty()) json["note"] = row.note;
    rows.push_back(std::move(json));
  }
  return {{"name", source.name()},         {"source", source.source()},
          {"protocol", source.protocol()}, {"evidence_class", source.evidence_class()},
          {"note", source.note()},         {"rows", std::move(rows)}};
}

Json TableJson(const LeaderboardTable& table) {
  Json json = {{"metric", table.metric->name()}, {"tasks", table.tasks},
               {"differs", table.differs},       {"rows", Json::array()},
               {"published", Json::array()},     {"notes", table.notes}};
  for (const LeaderboardRow& row : table.rows) json["rows"].push_back(RowJson(row, table));
  for (const PublishedRows& rows : table.published)
    json["published"].push_back(PublishedJson(rows, table.tasks));
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
  std::string text = kCsvHeader;
  for (size_t t = 0; t < board.tables.size(); ++t) {
    AppendMeasured(board.tables[t], absl::StrCat(t + 1), board.options, &text);
    AppendPublished(board.tables[t], absl::StrCat(t + 1), &text);
  }
  return text;
}

std::string WriteJson(const Leaderboard& board) {
  Json json = {{"split", board.options.split},
               {"confidence", board.options.confidence},
               {"mark_confidence", board.options.mark_confidence},
               {"tables", Json::array()},
               {"legend", Legend(board)},
               {"left_out", board.left_out}};
  for (const LeaderboardTable& table : board.tables) json["tables"].push_back(TableJson(table));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lra::internal
