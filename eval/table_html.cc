#include "eval/table_html.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "eval/axis_title.h"
#include "eval/table_cost.h"
#include "eval/table_writer.h"

namespace lra {
namespace {

constexpr char kStyle[] = R"(
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 1rem auto; max-width: 75rem; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .25rem 0; }
th, td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid; }
th[scope=rowgroup] { font-style: italic; font-weight: normal; border-top: 1px solid; }
tbody th[scope=row] { font-weight: normal; }
.value { font-weight: 600; }
.standing, .marks { display: block; font-size: .875rem; }
.standing { white-space: nowrap; }
[data-kind=published] .value { font-weight: normal; }
)";

// Where there is no number.
constexpr char kNothing[] = "<span class=\"none\">-</span>";

// ` data-low="0.35"`; empty for what is not a number.
std::string NumberAttribute(absl::string_view name, double value) {
  return std::isfinite(value) ? absl::StrFormat(" data-%s=\"%.9g\"", name, value) : "";
}

std::string CellAttributes(const LeaderboardCell& cell, const std::map<std::string, int>& numbers,
                           bool in_devices) {
  // What did not train has no score that could be sorted, compared or drawn.
  std::string text = cell.trained > 0 ? NumberAttribute("value", cell.value) : "";
  // What rows are ordered by, where runs failed.
  if (cell.trained > 0 && cell.rank_value() != cell.value)
    absl::StrAppend(&text, NumberAttribute("rank", cell.rank_value()));
  if (cell.interval) {
    absl::StrAppend(&text, NumberAttribute("low", cell.interval->low),
                    NumberAttribute("high", cell.interval->high));
  }
  if (const auto hours = in_devices ? cell.device_hours : cell.core_hours)
    absl::StrAppend(&text, NumberAttribute("cost", *hours));
  std::vector<int> runs;
  for (const std::string& directory : cell.directories) {
    const auto number = numbers.find(directory);
    if (number != numbers.end()) runs.push_back(number->second);
  }
  if (!runs.empty()) absl::StrAppend(&text, " data-runs=\"", absl::StrJoin(runs, " "), "\"");
  return text;
}

std::string Span(absl::string_view kind, absl::string_view text) {
  return text.empty() ? ""
                      : absl::StrCat("<span class=\"", kind, "\">", EscapeHtml(text), "</span>");
}

// "38.5 [36.2, 40.8] ab; learned, 3/3 above" in parts: the value, its standing, and the marks.
std::string CellContent(absl::string_view text) {
  if (text == "-") return kNothing;
  const size_t end = std::min(text.find("; "), text.size());
  const size_t value_end = std::min(text.find(' '), end);
  return absl::StrCat(Span("value", text.substr(0, value_end)),
                      Span("standing", text.substr(value_end, end - value_end)),
                      Span("marks", text.substr(std::min(end + 2, text.size()))));
}

std::string TableCell(const std::string& attributes, const std::string& content) {
  return absl::StrCat("<td", attributes, ">", content, "</td>");
}

std::string ColumnHead(absl::string_view kind, absl::string_view text) {
  return absl::StrCat("<th scope=\"col\" data-column=\"", EscapeHtml(kind), "\">", EscapeHtml(text),
                      "</th>");
}

// Which columns a table has besides its tasks.
struct Shape {
  explicit Shape(const LeaderboardTable& table) : has_average(table.has_average()) {
    for (const LeaderboardRow& row : table.rows) {
      for (const auto& cell : row.cells)
        has_cost |= cell && (cell->core_hours || cell->device_hours);
    }
    if (has_cost) costs = internal::CostColumns(table);
    std::erase_if(costs, [](const internal::CostColumn& column) { return !column.hours; });
    in_devices = internal::IsPricedInDevices(table);
    columns = 1 + table.tasks.size() + (has_average ? 1 : 0) + costs.size();
  }
  bool has_average, has_cost = false, in_devices = false;
  std::vector<internal::CostColumn> costs;  // of hours; the energy stands behind them
  size_t columns;
};

std::string Head(const LeaderboardTable& table, const Shape& shape) {
  std::string text = absl::StrCat("<thead><tr>", ColumnHead("method", "method"));
  for (size_t c = 0; c < table.tasks.size(); ++c) {
    const std::string& task = table.tasks[c];
    absl::StrAppend(&text,
                    ColumnHead(absl::StrCat("task:", task), table.metric_of(c).Heading(task)));
  }
  if (shape.has_average) absl::StrAppend(&text, ColumnHead("average", "average"));
  for (const internal::CostColumn& column : shape.costs)
    absl::StrAppend(&text, ColumnHead("cost", column.heading));
  return absl::StrCat(text, "</tr></thead>\n");
}

// What one seed of every task took; of how many tasks, where some do not say.
std::string CostCell(const internal::RowCost& cost, const internal::CostColumn& column) {
  const internal::RowHours& hours = cost.*column.hours;
  if (hours.known_tasks == 0) return TableCell("", kNothing);
  const std::string energy =
      cost.joules ? absl::StrCat(" ", internal::KilojoulesText(cost), " kJ") : "";
  return TableCell(NumberAttribute("value", hours.hours),
                   Span("value", internal::NumberText(hours)) +
                       Span("standing", absl::StrCat(internal::PartText(hours), energy)));
}

std::string RowHead(absl::string_view label) {
  // Long names may break at their underscores.
  return absl::StrCat("<tr><th scope=\"row\">",
                      absl::StrReplaceAll(EscapeHtml(label), {{"_", "_<wbr>"}}), "</th>");
}

std::string Row(const LeaderboardTable& table, const LeaderboardRow& row, const Shape& shape,
                const std::map<std::string, int>& run_numbers) {
  std::string text = RowHead(row.label);
  for (const auto& cell : row.cells) {
    std::string content = CellContent(internal::CellText(*table.metric, row.kind, cell));
    if (cell && !cell->tuning.empty()) {
      absl::StrAppend(&content,
                      "<span class=\"marks\">; learning rates tried: ", EscapeHtml(cell->tuning),
                      "</span>");
    }
    absl::StrAppend(
        &text,
        TableCell(cell ? CellAttributes(*cell, run_numbers, shape.in_devices) : "", content));
  }
  if (shape.has_average) {
    absl::StrAppend(&text, TableCell(row.average ? NumberAttribute("value", *row.average) : "",
                                     CellContent(internal::AverageText(*table.metric, row))));
  }
  const internal::RowCost cost = internal::CostOf(row);
  for (const internal::CostColumn& column : shape.costs)
    absl::StrAppend(&text, CostCell(cost, column));
  return absl::StrCat(text, "</tr>\n");
}

// Opens the body of a group of rows, which its title heads.
std::string OpenGroup(absl::string_view kind, absl::string_view title, const Shape& shape) {
  return absl::StrCat("<tbody data-kind=\"", kind,
                      "\"><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"", shape.columns,
                      "\">", EscapeHtml(title), "</th></tr>\n");
}

// A row of texts with the number behind each, NaN where there is none; the cost is never printed.
std::string TextRow(const std::vector<std::string>& texts, const std::vector<double>& values,
                    const Shape& shape) {
  std::string text = RowHead(texts.front());
  for (size_t c = 0; c < values.size(); ++c) {
    absl::StrAppend(&text,
                    TableCell(NumberAttribute("value", values[c]), CellContent(texts[c + 1])));
  }
  for (size_t c = 0; c < shape.costs.size(); ++c) text += TableCell("", kNothing);
  return absl::StrCat(text, "</tr>\n");
}

// The metric's own values, which a printed number is times its scale.
std::vector<double> PrintedValues(const Metric& metric, const PublishedRows::Row& row,
                                  const Shape& shape) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values;
  for (const auto& cell : row.cells) {
    const bool is_there = cell && !cell->is_failed();
    values.push_back(is_there ? cell->value() / metric.traits().scale : nothing);
  }
  if (shape.has_average)
    values.push_back(row.average ? *row.average / metric.traits().scale : nothing);
  return values;
}

std::string PublishedGroup(const LeaderboardTable& table, const PublishedRows& published,
                           const Shape& shape) {
  std::string text = OpenGroup(
      "published", absl::StrCat("Published, not measured here: ", published.table.name()), shape);
  for (const PublishedRows::Row& row : published.rows) {
    const std::vector<double> values = PrintedValues(*table.metric, row, shape);
    absl::StrAppend(&text, TextRow(internal::PrintedCells(row, shape.has_average), values, shape));
    for (const PublishedRows::Beside& ours : row.ours) {
      const std::vector<double> none(values.size(), std::numeric_limits<double>::quiet_NaN());
      absl::StrAppend(
          &text,
          TextRow(internal::DifferenceCells(*table.metric, ours, shape.has_average), none, shape));
    }
  }
  return absl::StrCat(text, "</tbody>\n");
}

std::string Groups(const LeaderboardTable& table, const Shape& shape,
                   const std::map<std::string, int>& run_numbers) {
  std::string text;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const LeaderboardRow& row = table.rows[r];
    if (r == 0 || table.rows[r - 1].kind != row.kind) {
      absl::StrAppend(
          &text, r == 0 ? "" : "</tbody>\n",
          OpenGroup(internal::KindName(row.kind), internal::SectionTitle(row.kind), shape));
    }
    absl::StrAppend(&text, Row(table, row, shape, run_numbers));
  }
  if (!table.rows.empty()) absl::StrAppend(&text, "</tbody>\n");
  for (const PublishedRows& published : table.published)
    absl::StrAppend(&text, PublishedGroup(table, published, shape));
  return text;
}

std::string Caption(const LeaderboardTable& table, const Shape& shape,
                    const LeaderboardOptions& options) {
  const MetricTraits& traits = table.metric->traits();
  return absl::StrCat(EscapeHtml(traits.title), " on the ", EscapeHtml(options.split), " split",
                      traits.is_higher_better ? "" : "; lower is better",
                      ". [low, high]: ", absl::StrFormat("%g", 100 * options.confidence),
                      " % interval.",
                      shape.has_cost ? absl::StrCat(" ", internal::CostLegend(table)) : "");
}

std::string OpenSection(const LeaderboardTable& table, size_t index, size_t count) {
  const MetricTraits& traits = table.metric->traits();
  const std::string id = absl::StrCat("table-", index + 1);
  return absl::StrCat(
      "<section class=\"leaderboard\" id=\"", id, "\" aria-labelledby=\"", id, "-title\"",
      absl::StrFormat(" data-scale=\"%g\" data-decimals=\"%d\" data-higher-is-better=\"%d\"",
                      traits.scale, traits.decimals, traits.is_higher_better ? 1 : 0),
      " data-cost-unit=\"", internal::IsPricedInDevices(table) ? "device-hours" : "core-hours",
      "\" data-unit=\"", EscapeHtml(traits.unit), "\" data-axis-title=\"",
      EscapeHtml(AxisTitle(*table.metric)), "\">\n<h2 id=\"", id, "-title\">",
      EscapeHtml(internal::TableTitle(index, count)), "</h2>\n",
      table.differs.empty() ? "" : absl::StrCat("<p>", EscapeHtml(table.differs), "</p>\n"),
      "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-labelledby=\"", id, "-title\">\n");
}

}  // namespace

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string HtmlList(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences)
    absl::StrAppend(&text, "<li>", EscapeHtml(sentence), "</li>\n");
  return text.empty() ? "" : absl::StrCat("<ul>\n", text, "</ul>\n");
}

std::string HtmlTables(const Leaderboard& board, const std::map<std::string, int>& run_numbers) {
  std::string text;
  for (size_t t = 0; t < board.tables.size(); ++t) {
    const LeaderboardTable& table = board.tables[t];
    const Shape shape(table);
    absl::StrAppend(&text, OpenSection(table, t, board.tables.size()), "<table>\n<caption><span>",
                    Caption(table, shape, board.options), "</span></caption>\n", Head(table, shape),
                    Groups(table, shape, run_numbers), "</table>\n</div>\n",
                    "<details><summary>How it was obtained</summary>\n",
                    HtmlList(internal::TableNotes(table, shape.has_cost)),
                    "</details>\n</section>\n");
  }
  return text;
}

std::string HtmlLeaderboard(const Leaderboard& board) {
  const std::string left_out = HtmlList(board.left_out);
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Leaderboard</title>\n<style>",
      kStyle, "</style>\n</head>\n<body>\n<main>\n<h1>Long-Range Arena: leaderboard</h1>\n",
      HtmlTables(board, {}), "<section>\n<h2>How to read it</h2>\n", HtmlList(Legend(board)),
      "</section>\n",
      left_out.empty()
          ? ""
          : absl::StrCat("<section>\n<h2>Not in a table</h2>\n", left_out, "</section>\n"),
      "</main>\n</body>\n</html>\n");
}

}  // namespace lra
