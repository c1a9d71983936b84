// Leaderboards for programs: JSON, which holds everything.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eval/published.h"
#include "eval/table_writer.h"
#include "lra/json_text.h"

namespace lra::internal {
namespace {

using Json = nlohmann::ordered_json;

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
    if (cell.moments->blocks != cell.moments->examples) json["blocks"] = cell.moments->blocks;
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
  if (cell.core_hours) json["is_cpu_time"] = cell.has_cpu_time;
  if (cell.device_hours) json["device_hours"] = *cell.device_hours;
  if (cell.slowest_over_fastest) json["slowest_over_fastest"] = *cell.slowest_over_fastest;
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
          {"unit", table.metric->stored_unit()},
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
