#include "eval/table_writer.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "eval/latex_text.h"
#include "eval/table_cost.h"
#include "eval/table_html.h"
#include "lra/suggest.h"
#include "lra/text_columns.h"
#include "lra/text_table.h"

namespace lra {
namespace {

// What Markdown and LaTeX have in common: titled groups of text cells.
struct Grid {
  struct Section {
    std::string title;
    std::vector<std::vector<std::string>> rows;
  };
  std::vector<std::string> header;
  std::vector<Section> sections;
};

// Under a row that was tuned: what was tried, by column.
std::optional<std::vector<std::string>> TuningRow(const LeaderboardRow& row, size_t width) {
  std::vector<std::string> cells = {absl::StrCat(row.method, ": learning rates tried")};
  bool is_tuned = false;
  for (const auto& cell : row.cells) {
    const std::string tuning = cell ? cell->tuning : "";
    is_tuned |= !tuning.empty();
    cells.push_back(tuning);
  }
  cells.resize(width);
  return is_tuned ? std::optional(cells) : std::nullopt;
}

void AddPublished(const Metric& metric, const PublishedRows& published, bool has_average,
                  Grid* grid) {
  Grid::Section section{absl::StrCat("Published, not measured here: ", published.table.name()), {}};
  for (const PublishedRows::Row& row : published.rows) {
    section.rows.push_back(internal::PrintedCells(row, has_average));
    for (const PublishedRows::Beside& ours : row.ours)
      section.rows.push_back(internal::DifferenceCells(metric, ours, has_average));
  }
  grid->sections.push_back(std::move(section));
}

// The columns of costs behind those of scores.
void AppendCost(const LeaderboardRow& row, const std::vector<internal::CostColumn>& columns,
                std::vector<std::string>* cells) {
  const internal::RowCost cost = internal::CostOf(row);
  for (const internal::CostColumn& column : columns) cells->push_back(column.text(cost));
}

Grid MakeGrid(const LeaderboardTable& table, bool shows_cost) {
  const bool has_average = table.has_average();
  Grid grid;
  grid.header = {"method"};
  for (size_t c = 0; c < table.tasks.size(); ++c)
    grid.header.push_back(table.metric_of(c).Heading(table.tasks[c]));
  if (has_average) grid.header.push_back("average");
  std::vector<internal::CostColumn> costs;
  if (shows_cost) costs = internal::CostColumns(table);
  for (const internal::CostColumn& column : costs) grid.header.push_back(column.heading);
  for (const LeaderboardRow& row : table.rows) {
    const std::string title = internal::SectionTitle(row.kind);
    if (grid.sections.empty() || grid.sections.back().title != title)
      grid.sections.push_back({title, {}});
    std::vector<std::string> cells = {row.label};
    for (const auto& cell : row.cells)
      cells.push_back(internal::CellText(*table.metric, row.kind, cell));
    if (has_average) cells.push_back(internal::AverageText(*table.metric, row));
    AppendCost(row, costs, &cells);
    grid.sections.back().rows.push_back(std::move(cells));
    if (auto tuning = TuningRow(row, grid.header.size()))
      grid.sections.back().rows.push_back(*std::move(tuning));
  }
  for (const PublishedRows& published : table.published)
    AddPublished(*table.metric, published, has_average, &grid);
  for (Grid::Section& section : grid.sections) {
    for (auto& row : section.rows) row.resize(grid.header.size());
  }
  return grid;
}

// --- Markdown ---

// Rows of the whole table with section titles among them; all have the header's number of cells.
std::vector<std::vector<std::string>> MarkdownRows(const Grid& grid) {
  std::vector<std::vector<std::string>> rows = {grid.header};
  for (const Grid::Section& section : grid.sections) {
    rows.emplace_back(grid.header.size());
    rows.back()[0] = absl::StrCat("**", section.title, "**");
    rows.insert(rows.end(), section.rows.begin(), section.rows.end());
  }
  for (auto& row : rows) {
    for (std::string& cell : row) cell = EscapeCell(cell);
  }
  return rows;
}

std::string MarkdownGrid(const Grid& grid) {
  const auto rows = MarkdownRows(grid);
  const std::vector<size_t> widths = ColumnWidths(rows, 3);
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    absl::StrAppend(&text, "|");
    for (size_t c = 0; c < widths.size(); ++c)
      absl::StrAppend(&text, " ", PadRight(rows[r][c], widths[c]), " |");
    absl::StrAppend(&text, "\n");
    if (r > 0) continue;
    absl::StrAppend(&text, "|");
    for (size_t width : widths) absl::StrAppend(&text, std::string(width + 2, '-'), "|");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string Bullets(absl::string_view title, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string text = absl::StrCat(title, "\n\n");
  for (const std::string& sentence : sentences)
    absl::StrAppend(&text, "- ", EscapeNote(sentence), "\n");
  return text + "\n";
}

std::string WriteMarkdown(const Leaderboard& board) {
  std::string text;
  for (size_t t = 0; t < board.tables.size(); ++t) {
    const LeaderboardTable& table = board.tables[t];
    absl::StrAppend(&text, "## ", internal::TableTitle(t, board.tables.size()), "\n\n");
    if (!table.differs.empty()) absl::StrAppend(&text, EscapeNote(table.differs), "\n\n");
    absl::StrAppend(
        &text, MarkdownGrid(MakeGrid(table, board.options.shows_cost)), "\n",
        Bullets("How it was obtained:", internal::TableNotes(table, board.options.shows_cost)));
  }
  absl::StrAppend(&text, Bullets("How to read it:", Legend(board)),
                  Bullets("Not in a table:", board.left_out));
  text.pop_back();
  return text;
}

// --- LaTeX ---

std::string LatexRow(const std::vector<std::string>& cells) {
  return absl::StrCat(absl::StrJoin(cells, " & ",
                                    [](std::string* out, const std::string& cell) {
                                      out->append(EscapeLatex(cell));
                                    }),
                      " \\\\\n");
}

std::string LatexGrid(const Grid& grid) {
  std::string text = absl::StrCat("\\begin{tabular}{", std::string(grid.header.size(), 'l'),
                                  "}\n\\toprule\n", LatexRow(grid.header));
  for (const Grid::Section& section : grid.sections) {
    absl::StrAppend(&text, "\\midrule\n\\multicolumn{", grid.header.size(), "}{l}{\\emph{",
                    EscapeLatex(section.title), "}} \\\\\n");
    for (const auto& row : section.rows) absl::StrAppend(&text, LatexRow(row));
  }
  return absl::StrCat(text, "\\bottomrule\n\\end{tabular}\n");
}

// A list in small print, which may break between pages; empty without sentences.
std::string LatexNotes(absl::string_view title, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string text = absl::StrCat(
      "\\par{\\raggedright\\footnotesize\\setlength{\\parindent}{0pt}\n\\emph{", title, "}\\par\n");
  for (const std::string& sentence : sentences)
    absl::StrAppend(&text, EscapeLatex(sentence), "\\par\n");
  return text + "}\n";
}

// Notes stand behind the tables, since a float with a note for each method is higher than a page.
std::string WriteLatex(const Leaderboard& board) {
  std::string text =
      "% \\usepackage[T1]{fontenc}, \\usepackage[utf8]{inputenc} and \\usepackage{booktabs}, then "
      "\\input this file.\n";
  for (size_t t = 0; t < board.tables.size(); ++t) {
    const LeaderboardTable& table = board.tables[t];
    const std::string caption = absl::StrCat(internal::TableTitle(t, board.tables.size()), ".",
                                             table.differs.empty() ? "" : " ", table.differs);
    absl::StrAppend(&text, "\\begin{table}\n\\centering\n\\caption{", EscapeLatex(caption), "}\n",
                    LatexGrid(MakeGrid(table, board.options.shows_cost)), "\\end{table}\n",
                    LatexNotes(absl::StrCat(internal::TableTitle(t, board.tables.size()),
                                            ": how it was obtained"),
                               internal::TableNotes(table, board.options.shows_cost)));
  }
  return absl::StrCat(text, LatexNotes("How to read it", Legend(board)),
                      LatexNotes("Not in a table", board.left_out));
}

}  // namespace

absl::StatusOr<TableFormat> ParseTableFormat(absl::string_view name) {
  if (name == "md") return TableFormat::kMarkdown;
  if (name == "csv") return TableFormat::kCsv;
  if (name == "tex") return TableFormat::kLatex;
  if (name == "json") return TableFormat::kJson;
  if (name == "html") return TableFormat::kHtml;
  return UnknownNameError("table format", name, {"csv", "html", "json", "md", "tex"});
}

absl::StatusOr<TableFormat> TableFormatOfPath(absl::string_view path) {
  const std::string ending = std::filesystem::path(std::string(path)).extension().string();
  if (ending.size() > 1) return ParseTableFormat(ending.substr(1));
  return absl::InvalidArgumentError(
      "its name has no ending that says the format: .csv, .html, .json, .md or .tex; add one, or "
      "give --format");
}

std::string WriteLeaderboard(const Leaderboard& board, TableFormat format) {
  switch (format) {
    case TableFormat::kMarkdown:
      return WriteMarkdown(board);
    case TableFormat::kCsv:
      return internal::WriteCsv(board);
    case TableFormat::kLatex:
      return WriteLatex(board);
    case TableFormat::kJson:
      return internal::WriteJson(board);
    case TableFormat::kHtml:
      return HtmlLeaderboard(board);
  }
  return "";
}

}  // namespace lra
