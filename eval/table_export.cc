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
  return cell.seeds.size() == 1 ? "sampling only" : "over seeds";
}

// --- CSV
// -------------------------------------------------------------------------------------------------------------

constexpr char kCsvHeader[] =
    "table,kind,method,label,task,split,accuracy_percent,low_percent,high_percent,interval,"
    "confidence,seeds,examples,"
    "above_majority,learned,at_chance_runs,last_percent,early_stopped_runs,pretrain_steps,"
    "parameter_excess_percent,tuning,source\n";

// RFC 4180: quoted where needed, quotes doubled.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string CsvLine(const std::vector<std::string>& fields) {
  return absl::StrCat(absl::StrJoin(fields, ",",
                                    [](std::string* out, const std::string& field) {
                                      out->append(CsvField(field));
                                    }),
                      "\n");
}

std::string Percent(double fraction) { return absl::StrFormat("%.4f", 100 * fraction); }

void AppendMeasured(const LeaderboardTable& table, const std::string& number,
                    const LeaderboardOptions& options, std::string* text) {
  for (const LeaderboardRow& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      if (!row.cells[c]) continue;
      const LeaderboardCell& cell = *row.cells[c];
      absl::StrAppend(text, CsvLine({number,
                                     KindName(row.kind),
                                     row.method,
                                     row.label,
                                     table.tasks[c],
                                     options.split,
                                     Percent(cell.accuracy),
                                     Percent(cell.interval.low),
                                     Percent(cell.interval.high),
                                     IntervalName(cell),
                                     absl::StrCat(options.confidence),
                                     absl::StrJoin(cell.seeds, ";"),
                                     absl::StrCat(cell.examples),
                                     VerdictName(cell.above_majority),
                                     VerdictName(cell.learned),
                                     cell.at_chance_runs ? absl::StrCat(*cell.at_chance_runs) : "",
                                     cell.last_accuracy ? Percent(*cell.last_accuracy) : "",
                                     absl::StrCat(cell.early_stopped_runs),
                                     absl::StrCat(cell.pretrain_steps),
                                     cell.parameter_excess ? Percent(*cell.parameter_excess) : "",
                                     cell.tuning,
                                     ""}));
    }
    if (row.average) {
      absl::StrAppend(text, CsvLine({number,
                                     KindName(row.kind),
                                     row.method,
                                     row.label,
                                     "average",
                                     options.split,
                                     Percent(*row.average),
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     ""}));
    }
  }
}

void AppendPublished(const LeaderboardTable& table, const std::string& number, std::string* text) {
  for (const PublishedRows& published : table.published) {
    const auto line = [&](const PublishedRows::Row& row, const std::string& task, double percent) {
      absl::StrAppend(text, CsvLine({number,
                                     "published",
                                     row.method,
                                     row.label,
                                     task,
                                     "",
                                     absl::StrCat(percent),
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     "",
                                     published.table.name()}));
    };
    for (const PublishedRows::Row& row : published.rows) {
      for (size_t c = 0; c < row.percents.size(); ++c) {
        if (row.percents[c]) line(row, table.tasks[c], *row.percents[c]);
      }
      if (row.average_percent) line(row, "average", *row.average_percent);
    }
  }
}

// --- JSON
// ------------------------------------------------------------------------------------------------------------

Json CellJson(const LeaderboardCell& cell) {
  Json json = {{"accuracy", cell.accuracy},
               {"low", cell.interval.low},
               {"high", cell.interval.high},
               {"interval", IntervalName(cell)},
               {"seeds", cell.seeds},
               {"examples", cell.examples},
               {"above_majority", VerdictName(cell.above_majority)},
               {"learned", VerdictName(cell.learned)},
               {"runs", cell.directories}};
  if (cell.at_chance_runs) json["at_chance_runs"] = *cell.at_chance_runs;
  if (cell.last_accuracy) json["last_accuracy"] = *cell.last_accuracy;
  if (cell.early_stopped_runs > 0) json["early_stopped_runs"] = cell.early_stopped_runs;
  if (cell.pretrain_steps > 0) json["pretrain_steps"] = cell.pretrain_steps;
  if (cell.parameter_excess) json["parameter_excess"] = *cell.parameter_excess;
  if (!cell.tuning.empty()) json["tuning"] = cell.tuning;
  return json;
}

Json RowJson(const LeaderboardRow& row, const std::vector<std::string>& tasks) {
  Json cells = Json::object();
  for (size_t c = 0; c < tasks.size(); ++c) {
    if (row.cells[c]) cells[tasks[c]] = CellJson(*row.cells[c]);
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
  Json json = {{"tasks", table.tasks},
               {"differs", table.differs},
               {"rows", Json::array()},
               {"published", Json::array()},
               {"notes", table.notes}};
  for (const LeaderboardRow& row : table.rows) json["rows"].push_back(RowJson(row, table.tasks));
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
