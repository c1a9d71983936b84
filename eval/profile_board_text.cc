// How profiles of many runs are printed.
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/difference_text.h"
#include "eval/profile_board.h"
#include "eval/starting_run.h"
#include "eval/table_writer.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/text_table.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;

std::string CellText(const Metric& metric, const ProfileCell& cell) {
  return cell.value ? ValueText(metric, *cell.value, cell.interval) : "-";
}

// What all runs of a row began from, StartingRunOf(); empty where that was initial weights or
// differs.
std::string StartOf(const ProfiledRow& row) {
  std::set<std::string> starts;
  for (const LocatedRecord* run : row.runs) starts.insert(StartingRunOf(run->record));
  return starts.size() == 1 ? *starts.begin() : "";
}

// Whether it has several runs, whose spread is not that of starts.
bool IsOfOneStart(const ProfiledRow& row) {
  const std::string start = row.runs.size() > 1 ? StartOf(row) : "";
  return start == kAnotherEncoder || start == kAnotherWeights;
}

// "linear, 3 runs", "linear, 2/3 runs" of which two trained, "linear, FAIL 0/3".
std::string RowName(const ProfiledRow& row) {
  if (row.kind == RunRecord::BASELINE) return row.label;
  if (row.trained == 0) return absl::StrCat(row.label, ", FAIL 0/", row.all);
  const std::string of = row.trained == row.all ? "" : absl::StrCat(row.trained, "/");
  return absl::StrCat(row.label, ", ", of, row.all, row.all == 1 ? " run" : " runs",
                      IsOfOneStart(row) ? " from one start" : "");
}

// The number of a setting that has fields to tell, among those of its kind; 0 where it has none.
size_t NumberOf(const ProfileBoard& board, size_t s) {
  const std::vector<ProfiledSetting>& settings = board.group->settings;
  if (settings[s].fields.empty()) return 0;
  size_t number = 0;
  for (size_t i = 0; i <= s; ++i) number += settings[i].fields.empty() ? 0 : 1;
  return number;
}

std::string SettingTitle(const ProfileBoard& board, size_t s) {
  return absl::StrCat("**", SettingName(board, s), "**");
}

// "(1): train.steps=300." for each title with a number. What others set and this does not is left
// out, unless there is nothing else.
std::string SettingLegend(const ProfileBoard& board) {
  std::string text;
  for (size_t s = 0; s < board.group->settings.size(); ++s) {
    const std::vector<std::string>& fields = board.group->settings[s].fields;
    if (fields.empty()) continue;
    std::vector<std::string> set;
    absl::c_copy_if(fields, std::back_inserter(set),
                    [](const std::string& field) { return !absl::EndsWith(field, "=(unset)"); });
    absl::StrAppend(&text, "\n(", NumberOf(board, s),
                    "): ", absl::StrJoin(set.empty() ? fields : set, ", "), ".\n");
  }
  return text;
}

bool HasPlaces(const ProfileBoard& board) {
  return absl::c_any_of(board.rows, [](const std::vector<ProfileBoardRow>& rows) {
    return absl::c_any_of(rows, [](const ProfileBoardRow& row) { return !row.place.empty(); });
  });
}

bool HasOneStart(const ProfileBoard& board) {
  return absl::c_any_of(board.rows, [](const std::vector<ProfileBoardRow>& rows) {
    return absl::c_any_of(rows, [](const ProfileBoardRow& row) { return IsOfOneStart(*row.row); });
  });
}

// "6, 7 (26 examples)": what is not shown.
std::string HiddenColumns(const ProfileHeading& heading) {
  std::vector<std::string> names;
  int64_t examples = 0;
  for (size_t s = 0; s < heading.names.size(); ++s) {
    if (heading.examples[s] == 0 || heading.examples[s] >= kLeastShownExamples) continue;
    names.push_back(heading.names[s]);
    examples += heading.examples[s];
  }
  if (names.empty()) return "";
  return absl::StrCat(" Not shown, for want of examples: ", absl::StrJoin(names, ", "), " (",
                      FormatCount(examples), ").");
}

std::vector<std::string> RowCells(const Metric& metric, const ProfileBoardRow& row, size_t h,
                                  const std::vector<size_t>& columns) {
  std::vector<std::string> cells = {RowName(*row.row), CellText(metric, row.whole)};
  for (const size_t s : columns)
    cells.push_back(row.cells[h].empty() ? "-" : CellText(metric, row.cells[h][s]));
  return cells;
}

std::string HeadingText(const ProfileBoard& board, size_t h) {
  const ProfileHeading& heading = board.headings[h];
  const std::vector<size_t> columns = ShownStrata(heading);
  TextTable table{"", {heading.name, "all"}, {}};
  std::vector<std::string> examples = {"examples", FormatCount(board.examples)};
  for (const size_t s : columns) {
    table.header.push_back(heading.names[s]);
    examples.push_back(FormatCount(heading.examples[s]));
  }
  table.rows.push_back(std::move(examples));
  for (size_t s = 0; s < board.rows.size(); ++s) {
    table.rows.push_back({SettingTitle(board, s)});
    for (const ProfileBoardRow& row : board.rows[s])
      table.rows.push_back(RowCells(*board.group->metric, row, h, columns));
  }
  return absl::StrCat("\nBy ", heading.name, ": ", heading.definition, ".", HiddenColumns(heading),
                      "\n\n", ToMarkdown(table));
}

std::string PlacesText(const ProfileBoard& board) {
  const Metric& metric = *board.group->metric;
  TextTable table{"", {"row", "all", "place"}, {}};
  for (size_t s = 0; s < board.rows.size(); ++s) {
    if (board.group->settings[s].kind == RunRecord::BASELINE) continue;  // they are the places
    table.rows.push_back({SettingTitle(board, s)});
    for (const ProfileBoardRow& row : board.rows[s])
      table.rows.push_back({RowName(*row.row), CellText(metric, row.whole), row.place});
  }
  for (const auto& [name, places] : board.published) {
    table.rows.push_back({absl::StrCat("**Published, not measured here: ", name, "**")});
    for (const PublishedPlace& place : places)
      table.rows.push_back({place.label, metric.Number(place.value), place.place});
  }
  return absl::StrCat(
      "\nPlaces among the baselines: \"as\" one whose score lies in the row's interval",
      board.published.empty() ? ""
                              : ", a number in print taken as that of one run on as many examples "
                                "of its own, whatever length it read",
      ".\n\n", ToMarkdown(table));
}

Json CellJson(const ProfileCell& cell) {
  Json json = {{"examples", cell.examples}};
  if (cell.value) json["value"] = *cell.value;
  if (cell.interval) json["interval"] = {cell.interval->low, cell.interval->high};
  return json;
}

Json RowJson(const ProfileBoard& board, const ProfiledSetting& setting,
             const ProfileBoardRow& row) {
  Json json = {{"kind", internal::KindName(row.row->kind)}, {"row", row.row->label}};
  if (!setting.rules.empty()) json["rules"] = setting.rules;
  if (!setting.fields.empty()) json["fields"] = setting.fields;
  if (const std::string start = StartOf(*row.row); !start.empty()) json["from"] = start;
  json["trained"] = row.row->trained;
  json["all"] = row.row->all;
  for (const LocatedRecord* run : row.row->runs)
    json["runs"].push_back({{"seed", run->record.seed()}, {"directory", run->directory}});
  json["whole"] = CellJson(row.whole);
  if (!row.place.empty()) json["place"] = row.place;
  for (size_t h = 0; h < board.headings.size(); ++h) {
    if (row.cells[h].empty()) continue;
    const ProfileHeading& heading = board.headings[h];
    Json cells = Json::object();
    for (size_t s = 0; s < heading.names.size(); ++s)
      cells[heading.names[s]] = CellJson(row.cells[h][s]);
    json["by"][heading.name] = std::move(cells);
  }
  return json;
}

Json BoardJson(const ProfileBoard& board) {
  Json json = {{"task", board.group->task},
               {"split", board.group->split},
               {"metric", board.group->metric->name()},
               {"confidence", board.confidence},
               {"examples", board.examples},
               {"max_length_tokens", board.group->max_length_tokens},
               {"view_fingerprint", board.group->data->data().view_fingerprint()},
               {"headings", Json::array()},
               {"rows", Json::array()}};
  if (!board.group->differs.empty()) json["differs"] = board.group->differs;
  if (board.group->block_examples > 1) json["block_examples"] = board.group->block_examples;
  for (const ProfileHeading& heading : board.headings)
    json["headings"].push_back({{"by", heading.name}, {"definition", heading.definition}});
  for (size_t s = 0; s < board.rows.size(); ++s) {
    for (const ProfileBoardRow& row : board.rows[s])
      json["rows"].push_back(RowJson(board, board.group->settings[s], row));
  }
  for (const auto& [name, places] : board.published) {
    for (const PublishedPlace& place : places) {
      json["published"].push_back({{"table", name},
                                   {"label", place.label},
                                   {"value", place.value},
                                   {"place", place.place}});
    }
  }
  return json;
}

}  // namespace

std::string SettingName(const ProfileBoard& board, size_t setting) {
  const ProfiledSetting& of = board.group->settings[setting];
  const size_t number = NumberOf(board, setting);
  return absl::StrCat(of.rules.empty() ? internal::SectionTitle(of.kind) : of.rules,
                      number == 0 ? "" : absl::StrCat(" (", number, ")"));
}

std::vector<size_t> ShownStrata(const ProfileHeading& heading) {
  std::vector<size_t> shown;
  for (size_t s = 0; s < heading.names.size(); ++s) {
    if (heading.examples[s] >= kLeastShownExamples) shown.push_back(s);
  }
  return shown;
}

std::string ProfileBoardText(const ProfileBoard& board) {
  const MetricTraits& traits = board.group->metric->traits();
  const int64_t tokens = board.group->max_length_tokens;
  const std::string longest =
      tokens > 0 ? absl::StrCat(" of up to ", FormatCount(tokens), " tokens") : "";
  std::string text = absl::StrFormat(
      "### %s, %s split, %s examples%s\n\n%s%s: the mean of a row's runs that trained [%g %% "
      "interval, which covers new seeds and new examples; of one run, new examples%s].\n",
      board.group->task, board.group->split, FormatCount(board.examples), longest, traits.title,
      traits.is_higher_better ? "" : ", lower is better", 100 * board.confidence,
      HasOneStart(board) ? "; of runs from one start, which is another run's encoder or weights, "
                           "not another such start"
                         : "");
  if (!board.group->differs.empty()) absl::StrAppend(&text, "\n", board.group->differs, "\n");
  if (board.group->block_examples > 1)
    absl::StrAppend(&text, "\n", NeighboursText(board.group->block_examples), "\n");
  for (size_t h = 0; h < board.headings.size(); ++h) absl::StrAppend(&text, HeadingText(board, h));
  if (board.headings.empty()) {
    absl::StrAppend(&text, "\nThe task names no way to sort its examples, or none that this data ",
                    "and view allow.\n");
  }
  if (HasPlaces(board)) absl::StrAppend(&text, PlacesText(board));
  absl::StrAppend(&text, SettingLegend(board));
  return text;
}

std::string ProfileBoardsJson(const std::vector<ProfileBoard>& boards) {
  Json json = Json::array();
  for (const ProfileBoard& board : boards) json.push_back(BoardJson(board));
  return JsonText(json);
}

}  // namespace lra
