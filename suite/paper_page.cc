#include "suite/paper_page.h"

#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "bench/efficiency_grid.h"
#include "bench/published_speeds.h"
#include "eval/metric.h"
#include "eval/published.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/json_text.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "suite/paper.h"

namespace lra {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

constexpr char kIntroduction[] = R"(# The papers' tables and figures

Every table and figure of the papers that this suite implements: the command that makes it here, how far that is, and what
the paper prints. A suite has two sizes: `NAME` has those of the paper's protocol, with its budget, and `NAME_small` ends on
two cores in the hours that its description (`configs/suites/`) and [suites](suites.md) state. Status counts, for each size by
its name, the runs whose records are kept in `docs/records/`, also in the folder of another suite, and the cells of a grid that
the linked file holds.
Printed numbers are data (`configs/published/`): evidence class P was read in a primary source, S as copied by others.
`lra table --published` sets ours beside them, and `lra ablate --published` our effects beside their differences.

This page is made by `lra papers`; a test compares it.
)";

// A paper with all that is said of it.
struct Entry {
  struct Item {
    PaperItem item;
    ItemStatus status;
    std::optional<PublishedTable> published;
    std::vector<PublishedSpeeds> speeds;  // of its grid, but for those of an item before it
  };
  std::string name, title;
  std::vector<Item> items;
};

// The printed speeds that the item's grid stands beside, without those that are `seen`.
absl::StatusOr<std::vector<PublishedSpeeds>> SpeedsOf(const PaperItem& item,
                                                      std::set<std::string>* seen) {
  std::vector<PublishedSpeeds> speeds;
  if (item.grid().empty()) return speeds;
  LRA_ASSIGN_OR_RETURN(const EfficiencyGrid grid, LoadEfficiencyGrid(item.grid()));
  for (const std::string& name : grid.published()) {
    if (!seen->insert(name).second) continue;
    LRA_ASSIGN_OR_RETURN(speeds.emplace_back(), LoadPublishedSpeeds(name));
  }
  return speeds;
}

absl::StatusOr<Entry> ReadEntry(const std::string& name, const std::string& records) {
  LRA_ASSIGN_OR_RETURN(const PaperFile paper, LoadPaper(name));
  Entry entry{name, paper.title(), {}};
  std::set<std::string> seen_speeds;
  for (const PaperItem& item : paper.item()) {
    LRA_ASSIGN_OR_RETURN(ItemStatus status, StatusOf(item, records));
    Entry::Item read{item, std::move(status), std::nullopt, {}};
    LRA_ASSIGN_OR_RETURN(read.speeds, SpeedsOf(item, &seen_speeds));
    if (!item.published().empty()) {
      LRA_ASSIGN_OR_RETURN(PublishedTable table, LoadPublishedTable(item.published()));
      read.published = WithoutRecalled(std::move(table));
    }
    entry.items.push_back(std::move(read));
  }
  return entry;
}

absl::StatusOr<std::vector<Entry>> ReadEntries(const PaperPageOptions& options) {
  std::vector<Entry> entries;
  for (const std::string& name : options.papers.empty() ? ConfigNames("papers") : options.papers) {
    LRA_ASSIGN_OR_RETURN(Entry entry, ReadEntry(name, options.records));
    entries.push_back(std::move(entry));
  }
  return entries;
}

// --- Markdown ---

std::string MarkdownRow(const Row& cells) {
  std::string text = "|";
  for (const std::string& cell : cells)
    absl::StrAppend(&text, " ", absl::StrReplaceAll(cell, {{"|", "\\|"}}), " |");
  return absl::StrCat(text, "\n");
}

std::string MarkdownTable(const std::vector<Row>& rows) {
  std::string text = MarkdownRow(rows.front());
  absl::StrAppend(&text, MarkdownRow(Row(rows.front().size(), "---")));
  for (size_t i = 1; i < rows.size(); ++i) absl::StrAppend(&text, MarkdownRow(rows[i]));
  return text;
}

std::string Code(const std::string& command) { return absl::StrCat("`", command, "`"); }

// Links lead from the page to the folder beside it.
std::string StatusCell(const ItemStatus& status, const std::string& records) {
  std::vector<std::string> parts = {status.text};
  const std::string folder = std::filesystem::path(records).filename().string();
  for (const KeptResult& kept : status.kept)
    parts.push_back(absl::StrCat("[", kept.path, "](", JoinPath(folder, kept.path), ")"));
  return absl::StrJoin(parts, "<br>");
}

std::string ItemTable(const Entry& entry, const std::string& records) {
  std::vector<Row> rows = {{"item", "shows", "command", "status"}};
  for (const Entry::Item& one : entry.items) {
    Row commands;
    for (const std::string& command : CommandsOf(one.item)) commands.push_back(Code(command));
    if (!one.item.reason().empty()) commands.push_back(one.item.reason());
    rows.push_back({one.item.name(), one.item.shows(), absl::StrJoin(commands, "<br>"),
                    StatusCell(one.status, records)});
  }
  return MarkdownTable(rows);
}

// "listops"; "wikitext103_test (perplexity, lower is better)".
std::string Heading(const PublishedColumn& column) {
  if (column.metric() == kAccuracy) return column.name();
  Row parts;
  if (column.metric() != column.name()) parts.push_back(column.metric());
  if (!column.unit().empty() && column.unit() != column.name() && column.unit() != column.metric())
    parts.push_back(column.unit());
  if (column.is_lower_better()) parts.push_back("lower is better");
  return parts.empty() ? column.name()
                       : absl::StrCat(column.name(), " (", absl::StrJoin(parts, ", "), ")");
}

std::string PrintedCell(const PublishedRow& row, const std::string& column) {
  for (const PublishedCell& cell : row.cells()) {
    if (cell.column() != column) continue;
    if (cell.is_failed()) return "FAIL";
    return cell.has_spread() ? absl::StrCat(cell.value(), " (", cell.spread(), ")")
                             : absl::StrCat(cell.value());
  }
  return "-";
}

// Whether rows have averages, and what of where that is not all of their columns.
std::string AverageHeading(const PublishedTable& table) {
  for (const PublishedRow& row : table.rows()) {
    if (!row.average_of().empty())
      return absl::StrCat("average of ", absl::StrJoin(row.average_of(), ", "));
    if (row.has_average()) return "average";
  }
  return "";
}

std::string PrintedTable(const PublishedTable& table) {
  const Row columns = ColumnNames(table);
  const std::string average = AverageHeading(table);
  std::vector<Row> rows = {{table.row_heading().empty() ? "method" : table.row_heading()}};
  for (const std::string& column : columns) rows[0].push_back(Heading(ColumnOf(table, column)));
  if (!average.empty()) rows[0].push_back(average);
  for (const PublishedRow& row : table.rows()) {
    rows.push_back({row.label()});
    for (const std::string& column : columns) rows.back().push_back(PrintedCell(row, column));
    if (!average.empty()) rows.back().push_back(AverageText(table, row));
  }
  return MarkdownTable(rows);
}

std::string PrintedNotes(const PublishedTable& table) {
  std::string text = absl::StrCat(
      Code(table.name()), ": ", SourceText(table), "; ", table.protocol(), "; evidence class ",
      table.evidence_class(), ".",
      table.spread().empty() ? "" : absl::StrCat(" In brackets: ", table.spread(), "."));
  if (!table.note().empty()) absl::StrAppend(&text, " ", table.note());
  std::string remarks;
  for (const PublishedRow& row : table.rows()) {
    const std::string of_row = RemarksOn(row);
    if (!of_row.empty()) absl::StrAppend(&remarks, "\n* ", row.label(), ": ", of_row, ".");
  }
  return remarks.empty() ? text : absl::StrCat(text, "\n", remarks);
}

std::string PrintedSpeeds(const PublishedSpeeds& speeds) {
  const TextTable table = PrintedSpeedsTable(speeds);
  std::vector<Row> rows = {table.header};
  rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  return absl::StrCat(MarkdownTable(rows), "\n", speeds.source(), "; evidence class ",
                      speeds.evidence_class(), "; training and inference in steps a second. ",
                      speeds.note(), ".\n");
}

std::string Section(const Entry& entry, const std::string& records) {
  std::string text =
      absl::StrCat("## ", entry.name, "\n\n", entry.title, "\n\n", ItemTable(entry, records));
  for (const Entry::Item& one : entry.items) {
    const std::string heading =
        absl::StrCat("\n### ", entry.name, ": ", one.item.name(), " as printed\n\n");
    if (one.published) {
      absl::StrAppend(&text, heading, PrintedTable(*one.published), "\n",
                      PrintedNotes(*one.published), "\n");
    }
    for (const PublishedSpeeds& speeds : one.speeds)
      absl::StrAppend(&text, heading, PrintedSpeeds(speeds));
  }
  return text;
}

// --- JSON ---

Json ItemJson(const Entry::Item& one, const std::string& records) {
  Json json = {{"item", one.item.name()},
               {"shows", one.item.shows()},
               {"commands", CommandsOf(one.item)},
               {"status", one.status.text},
               {"kept", Json::array()}};
  for (const KeptResult& kept : one.status.kept) {
    Json result = {{"path", JoinPath(records, kept.path)}};
    if (kept.runs > 0)
      result.update({{"finished", kept.finished}, {"runs", kept.runs}, {"other", kept.other}});
    if (kept.cells > 0) result.update({{"measured", kept.measured}, {"cells", kept.cells}});
    json["kept"].push_back(std::move(result));
  }
  if (!one.item.reason().empty()) json["reason"] = one.item.reason();
  if (one.published) json["published"] = one.published->name();
  return json;
}

}  // namespace

absl::StatusOr<std::string> PaperMarkdown(const PaperPageOptions& options) {
  LRA_ASSIGN_OR_RETURN(const std::vector<Entry> entries, ReadEntries(options));
  std::vector<std::string> parts;
  if (options.papers.empty()) parts.emplace_back(kIntroduction);
  for (const Entry& entry : entries) parts.push_back(Section(entry, options.records));
  return absl::StrJoin(parts, "\n");
}

absl::StatusOr<std::string> PaperJson(const PaperPageOptions& options) {
  LRA_ASSIGN_OR_RETURN(const std::vector<Entry> entries, ReadEntries(options));
  Json papers = Json::array();
  for (const Entry& entry : entries) {
    Json items = Json::array();
    for (const Entry::Item& one : entry.items) items.push_back(ItemJson(one, options.records));
    papers.push_back({{"name", entry.name}, {"title", entry.title}, {"items", std::move(items)}});
  }
  return JsonText(Json{{"papers", std::move(papers)}}) + "\n";
}

}  // namespace lra
