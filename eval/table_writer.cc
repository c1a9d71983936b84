#include "eval/table_writer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "eval/published.h"
#include "lra/progress.h"
#include "lra/suggest.h"

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

// "; last step 35.10; pretrained 500 steps; 2 stopped early; +23.1 % parameters".
std::string Circumstances(const Metric& metric, const LeaderboardCell& cell) {
  std::string text;
  if (cell.last_value) absl::StrAppend(&text, "; last step ", metric.Number(*cell.last_value));
  if (cell.pretrain_examples > 0)
    absl::StrAppend(&text, "; pretrained ", FormatCount(cell.pretrain_examples), " examples");
  else if (cell.pretrain_steps > 0)
    absl::StrAppend(&text, "; pretrained ", cell.pretrain_steps, " steps");
  if (cell.early_stopped_runs > 0) {
    absl::StrAppend(&text, "; ",
                    cell.seeds.size() == 1 ? "" : absl::StrCat(cell.early_stopped_runs, " "),
                    "stopped early");
  }
  if (cell.parameter_excess.value_or(0) > kParameterAllowance)
    absl::StrAppendFormat(&text, "; %+.1f %% parameters", 100 * *cell.parameter_excess);
  return text;
}

// "38.5 [36.2, 40.8]", with decimals that give the half width two digits.
std::string ValueText(const Metric& metric, double value, const std::optional<Interval>& interval) {
  if (!interval || std::isnan(interval->low)) return metric.Number(value);
  const int more = metric.DecimalsFor((interval->high - interval->low) / 2);
  return absl::StrCat(metric.Number(value, more), " [", metric.Number(interval->low, more), ", ",
                      metric.Number(interval->high, more), "]");
}

// " ab 4/5": letters, what the interval rests on where that is less than usual, and how many runs
// trained.
std::string Standing(const LeaderboardCell& cell) {
  std::string text = cell.letters.empty() ? "" : absl::StrCat(" ", cell.letters);
  if (cell.trained < cell.runs()) absl::StrAppend(&text, " ", cell.trained, "/", cell.runs());
  if (cell.trained == 1) return absl::StrCat(text, " 1 run");
  if (cell.basis == Basis::kCounts) absl::StrAppend(&text, " (counts)");
  if (cell.basis == Basis::kSeeds) absl::StrAppend(&text, " (seeds only)");
  return text;
}

// "; learned, 3/3 above; beats order", or the count alone.
std::string Learned(const LeaderboardCell& cell) {
  if (!cell.learned.runs_above || cell.trained == 0) return "";
  return absl::StrCat(cell.learned.verdict == Verdict::kYes ? "; learned, " : "; ",
                      *cell.learned.runs_above, "/", cell.runs(), " above",
                      cell.learned.above.empty() ? "" : "; beats ",
                      absl::StrJoin(cell.learned.above, ", "));
}

std::string CellText(const Metric& metric, RunRecord::Kind kind,
                     const std::optional<LeaderboardCell>& cell) {
  if (!cell) return kind == RunRecord::BASELINE ? "-" : "missing";
  if (cell->runs() == 0) return absl::StrCat("missing (", cell->missing, ")");
  std::string text;
  if (cell->trained == 0) {
    text = absl::StrCat("FAIL 0/", cell->runs());
    if (!std::isnan(cell->value)) absl::StrAppend(&text, " (", metric.Number(cell->value), ")");
  } else {
    text = absl::StrCat(ValueText(metric, cell->value, cell->interval), Standing(*cell),
                        Learned(*cell));
    if (cell->all_runs) {
      absl::StrAppend(&text, "; all runs ",
                      ValueText(metric, cell->all_runs->mean, cell->all_runs->interval));
    }
  }
  if (cell->missing > 0) absl::StrAppend(&text, "; ", cell->missing, " missing");
  return absl::StrCat(text, Circumstances(metric, *cell));
}

std::string AverageText(const Metric& metric, const LeaderboardRow& row) {
  if (!row.average) return "-";
  return absl::StrCat(ValueText(metric, *row.average, row.average_interval),
                      row.average_has_single_runs ? " 1 run" : "");
}

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

std::string SectionTitle(RunRecord::Kind kind) {
  switch (kind) {
    case RunRecord::BASELINE:
      return "Baselines (no attention)";
    case RunRecord::EXTERNAL:
      return "External predictions, scored here";
    default:
      return "Measured here";
  }
}

std::string PrintedText(const std::optional<PublishedCell>& cell) {
  if (!cell) return "-";
  if (cell->is_failed()) return "FAIL";
  return absl::StrCat(absl::StrFormat("%.2f", cell->value()),
                      cell->has_spread() ? absl::StrFormat(" (%.2f)", cell->spread()) : "");
}

// "+0.54 [-1.62, 2.70]".
std::string DifferenceText(const Metric& metric,
                           const std::optional<PublishedDifference>& difference) {
  if (!difference) return "-";
  return absl::StrCat(difference->value > 0 ? "+" : "",
                      ValueText(metric, difference->value, difference->interval));
}

std::vector<std::string> PrintedCells(const PublishedRows::Row& row, bool has_average) {
  std::vector<std::string> cells = {absl::StrCat(row.row.label(), " (published)")};
  for (const auto& cell : row.cells) cells.push_back(PrintedText(cell));
  if (has_average) cells.push_back(row.average ? absl::StrFormat("%.2f", *row.average) : "-");
  return cells;
}

std::vector<std::string> DifferenceCells(const Metric& metric, const PublishedRows::Beside& ours,
                                         bool has_average) {
  std::vector<std::string> cells = {absl::StrCat(ours.label, ": ours - published")};
  for (const auto& cell : ours.cells) cells.push_back(DifferenceText(metric, cell));
  if (has_average) cells.push_back(DifferenceText(metric, ours.average));
  return cells;
}

void AddPublished(const Metric& metric, const PublishedRows& published, bool has_average,
                  Grid* grid) {
  Grid::Section section{absl::StrCat("Published, not measured here: ", published.table.name()), {}};
  for (const PublishedRows::Row& row : published.rows) {
    section.rows.push_back(PrintedCells(row, has_average));
    for (const PublishedRows::Beside& ours : row.ours)
      section.rows.push_back(DifferenceCells(metric, ours, has_average));
  }
  grid->sections.push_back(std::move(section));
}

Grid MakeGrid(const LeaderboardTable& table) {
  const bool has_average = table.tasks.size() > 1;
  Grid grid;
  grid.header = {"method"};
  for (const std::string& task : table.tasks) grid.header.push_back(table.metric->Heading(task));
  if (has_average) grid.header.push_back("average");
  for (const LeaderboardRow& row : table.rows) {
    const std::string title = SectionTitle(row.kind);
    if (grid.sections.empty() || grid.sections.back().title != title)
      grid.sections.push_back({title, {}});
    std::vector<std::string> cells = {row.label};
    for (const auto& cell : row.cells) cells.push_back(CellText(*table.metric, row.kind, cell));
    if (has_average) cells.push_back(AverageText(*table.metric, row));
    grid.sections.back().rows.push_back(std::move(cells));
    if (auto tuning = TuningRow(row, grid.header.size()))
      grid.sections.back().rows.push_back(*std::move(tuning));
  }
  for (const PublishedRows& published : table.published)
    AddPublished(*table.metric, published, has_average, &grid);
  return grid;
}

// Source, protocol and remarks of the published rows that a table shows.
std::vector<std::string> PublishedNotes(const LeaderboardTable& table) {
  std::vector<std::string> notes;
  for (const PublishedRows& published : table.published) {
    const PublishedTable& source = published.table;
    notes.push_back(absl::StrCat(
        "Published ", source.name(), ": ", SourceText(source), "; protocol ", source.protocol(),
        ", evidence class ", source.evidence_class(), ".",
        source.spread().empty() ? "" : absl::StrCat(" In brackets: ", source.spread(), "."),
        source.note().empty() ? "" : " ", source.note()));
    for (const PublishedRows::Row& row : published.rows) {
      const std::string remarks = RemarksOn(row.row);
      if (!remarks.empty())
        notes.push_back(absl::StrCat("Published ", row.row.label(), ": ", remarks, "."));
    }
  }
  return notes;
}

std::vector<std::string> TableNotes(const LeaderboardTable& table) {
  std::vector<std::string> notes = table.notes;
  for (std::string& note : PublishedNotes(table)) notes.push_back(std::move(note));
  return notes;
}

std::string TableTitle(size_t index, size_t count) {
  return count == 1 ? "Leaderboard" : absl::StrCat("Leaderboard, table ", index + 1, " of ", count);
}

// --- Markdown ---

// Characters, not bytes, of UTF-8 text.
size_t Width(absl::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::string EscapeMarkdown(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}});
}

// Rows of the whole table with section titles among them; all have the header's number of cells.
std::vector<std::vector<std::string>> MarkdownRows(const Grid& grid) {
  std::vector<std::vector<std::string>> rows = {grid.header};
  for (const Grid::Section& section : grid.sections) {
    rows.emplace_back(grid.header.size());
    rows.back()[0] = absl::StrCat("**", section.title, "**");
    rows.insert(rows.end(), section.rows.begin(), section.rows.end());
  }
  for (auto& row : rows) {
    for (std::string& cell : row) cell = EscapeMarkdown(cell);
  }
  return rows;
}

std::string MarkdownGrid(const Grid& grid) {
  const auto rows = MarkdownRows(grid);
  std::vector<size_t> widths(grid.header.size(), 3);
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Width(row[c]));
  }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    absl::StrAppend(&text, "|");
    for (size_t c = 0; c < widths.size(); ++c) {
      absl::StrAppend(&text, " ", rows[r][c], std::string(widths[c] - Width(rows[r][c]), ' '),
                      " |");
    }
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
  return absl::StrCat(title, "\n\n- ", absl::StrJoin(sentences, "\n- "), "\n\n");
}

std::string WriteMarkdown(const Leaderboard& board) {
  std::string text;
  for (size_t t = 0; t < board.tables.size(); ++t) {
    const LeaderboardTable& table = board.tables[t];
    absl::StrAppend(&text, "## ", TableTitle(t, board.tables.size()), "\n\n");
    if (!table.differs.empty()) absl::StrAppend(&text, table.differs, "\n\n");
    absl::StrAppend(&text, MarkdownGrid(MakeGrid(table)), "\n",
                    Bullets("How it was obtained:", TableNotes(table)));
  }
  absl::StrAppend(&text, Bullets("How to read it:", Legend(board)),
                  Bullets("Not in a table:", board.left_out));
  text.pop_back();
  return text;
}

// --- LaTeX ---

std::string EscapeLatex(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\textbackslash{}"},
                                    {"&", "\\&"},
                                    {"%", "\\%"},
                                    {"$", "\\$"},
                                    {"#", "\\#"},
                                    {"_", "\\_"},
                                    {"{", "\\{"},
                                    {"}", "\\}"},
                                    {"~", "\\textasciitilde{}"},
                                    {"^", "\\textasciicircum{}"},
                                    {"<", "\\textless{}"},
                                    {">", "\\textgreater{}"}});
}

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

std::string LatexNotes(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences)
    absl::StrAppend(&text, EscapeLatex(sentence), "\\par\n");
  return text;
}

std::string WriteLatex(const Leaderboard& board) {
  std::string text =
      "% \\usepackage[T1]{fontenc}, \\usepackage[utf8]{inputenc} and \\usepackage{booktabs}, then "
      "\\input this file.\n";
  for (size_t t = 0; t < board.tables.size(); ++t) {
    const LeaderboardTable& table = board.tables[t];
    const std::string caption = absl::StrCat(TableTitle(t, board.tables.size()), ".",
                                             table.differs.empty() ? "" : " ", table.differs);
    absl::StrAppend(&text, "\\begin{table}\n\\centering\n\\caption{", EscapeLatex(caption), "}\n",
                    LatexGrid(MakeGrid(table)), "\\par\\medskip\\raggedright\\footnotesize\n",
                    LatexNotes(TableNotes(table)), LatexNotes(Legend(board)));
    for (const std::string& reason : board.left_out) {
      absl::StrAppend(&text, LatexNotes({absl::StrCat("Not in a table: ", reason, ".")}));
    }
    absl::StrAppend(&text, "\\end{table}\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<TableFormat> ParseTableFormat(absl::string_view name) {
  if (name == "md") return TableFormat::kMarkdown;
  if (name == "csv") return TableFormat::kCsv;
  if (name == "tex") return TableFormat::kLatex;
  if (name == "json") return TableFormat::kJson;
  return UnknownNameError("table format", name, {"csv", "json", "md", "tex"});
}

absl::StatusOr<TableFormat> TableFormatOfPath(absl::string_view path) {
  const size_t dot = path.rfind('.');
  return ParseTableFormat(dot == absl::string_view::npos ? "" : path.substr(dot + 1));
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
  }
  return "";
}

}  // namespace lra
