#include "eval/table_paper.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "eval/latex_text.h"
#include "eval/published.h"
#include "eval/table_cost.h"
#include "eval/table_paper_column.h"
#include "eval/table_writer.h"

namespace lra {
namespace {

// More columns of numbers than these need the page's width.
constexpr size_t kColumnsOfOneColumn = 3;

constexpr char kPreamble[] =
    R"(% Needs \usepackage{booktabs,graphicx} and, for names with accents, \usepackage[T1]{fontenc}.
% \newcommand{\lracite}{\cite} before \input cites published rows by the name of their table.
\providecommand{\lracite}[1]{}
)";

// A table of the paper.
class PaperTable {
 public:
  PaperTable(const Leaderboard& board, size_t index)
      : board_(board), table_(board.tables[index]), index_(index) {
    const size_t columns = table_.tasks.size() + (table_.has_average() ? 1 : 0);
    for (size_t c = 0; c < columns; ++c) columns_.emplace_back(table_, c);
    if (board_.options.shows_cost) costs_ = internal::CostColumns(table_);
  }

  std::string Text() {
    const std::string grid = Grid();  // finds the marks
    const std::string environment = columns_.size() > kColumnsOfOneColumn ? "table*" : "table";
    return absl::StrCat(Comments(), "\\begin{", environment,
                        "}[t]\n\\centering\n\\setlength{\\belowcaptionskip}{4pt}\n\\caption{",
                        Caption(), "}\n\\label{tab:lra", Suffix("-"), "}\n\\small\n",
                        "\\setlength{\\tabcolsep}{4pt}\n\\sbox2{%\n", grid,
                        // Shrunk only where it would not fit: the grid in its width, with the
                        // notes in its height, which leaves a part of a page for the caption.
                        "}%\n\\sbox4{\\begin{minipage}{\\linewidth}\\centering\n"
                        "\\ifdim\\wd2>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox2}"
                        "\\else\\usebox2\\fi\n",
                        "\\par\\smallskip\n\\begin{minipage}{\\linewidth}\\footnotesize"
                        "\\raggedright\n",
                        absl::StrJoin(Notes(), "\n"), "\n\\end{minipage}\\end{minipage}}%\n",
                        "\\ifdim\\dimexpr\\ht4+\\dp4\\relax>0.9\\textheight"
                        "\\resizebox*{!}{0.9\\textheight}{\\usebox4}\\else\\usebox4\\fi\n",
                        "\\end{", environment, "}\n");
  }

 private:
  std::string Suffix(absl::string_view mark) const {
    return board_.tables.size() == 1 ? "" : absl::StrCat(mark, index_ + 1);
  }

  std::string Comments() const {
    std::string text;
    const auto add = [&text](absl::string_view sentence) {
      absl::StrAppend(&text, "% ", absl::StrReplaceAll(sentence, {{"\n", " "}}), "\n");
    };
    for (const std::string& note : internal::TableNotes(table_, board_.options.shows_cost))
      add(note);
    if (index_ == 0) {
      for (const std::string& reason : board_.left_out) add(absl::StrCat("Not here: ", reason));
    }
    return text;
  }

  // "Accuracy in percent on the test split, means over 3 runs (protocol fair@1, preset small)."
  std::string Caption() const {
    const MetricTraits& traits = table_.metric->traits();
    return absl::StrCat(
        EscapeLatex(traits.title), " on the ", board_.options.split, " split",
        traits.is_higher_better ? "" : " (lower is better)", RunsText(),
        table_.rules.empty() ? "" : absl::StrCat(" (", BreakableLatex(table_.rules), ")"), ".");
  }

  std::string RunsText() const {
    int64_t least = 0, most = 0;
    for (const LeaderboardRow& row : table_.rows) {
      for (const auto& cell : row.cells) {
        if (row.kind == RunRecord::BASELINE || !cell || cell->runs() == 0) continue;
        least = least == 0 ? cell->runs() : std::min(least, cell->runs());
        most = std::max(most, cell->runs());
      }
    }
    if (most == 0) return "";
    if (most == 1) return ", one run each";
    return least == most ? absl::StrCat(", means over ", most, " runs")
                         : absl::StrCat(", means over ", least, " to ", most, " runs");
  }

  std::string Title(const std::string& title) const {
    return absl::StrCat("\\midrule\n\\multicolumn{", 1 + 2 * columns_.size() + costs_.size(),
                        "}{@{}l}{", title, "} \\\\\n");
  }

  static void AppendCell(const internal::PaperCell& cell, std::string* line) {
    absl::StrAppend(line, " & ", cell.number, " & ", cell.behind);
  }

  std::string MeasuredLine(const LeaderboardRow& row) {
    std::string line = EscapeLatex(row.label);
    for (const internal::PaperColumn& column : columns_)
      AppendCell(column.Cell(row, &used_), &line);
    const internal::RowCost cost = internal::CostOf(row);
    for (const internal::CostColumn& column : costs_)
      absl::StrAppend(&line, " & ", column.text(cost));
    return absl::StrCat(line, " \\\\\n");
  }

  std::string PrintedLine(const PublishedRows::Row& row) const {
    std::string line = EscapeLatex(row.row.label());
    for (const internal::PaperColumn& column : columns_) AppendCell(column.Printed(row), &line);
    return absl::StrCat(line, std::string(costs_.size(), '&'), " \\\\\n");
  }

  std::string Grid() {
    std::string text = "\\begin{tabular}{@{}l";
    for (size_t c = 0; c < columns_.size(); ++c) absl::StrAppend(&text, " r@{}l");
    absl::StrAppend(&text, std::string(costs_.size(), 'r'), "@{}}\n\\toprule\nmethod");
    for (const internal::PaperColumn& column : columns_)
      absl::StrAppend(&text, " & ", column.Head());
    for (const internal::CostColumn& column : costs_) absl::StrAppend(&text, " & ", column.heading);
    absl::StrAppend(&text, " \\\\\n");
    std::string title;
    for (const LeaderboardRow& row : table_.rows) {
      const std::string section = internal::SectionTitle(row.kind);
      if (section != title) absl::StrAppend(&text, Title(absl::StrCat("\\emph{", section, "}")));
      title = section;
      absl::StrAppend(&text, MeasuredLine(row));
    }
    for (const PublishedRows& published : table_.published) {
      const std::string& name = published.table.name();
      absl::StrAppend(&text, Title(absl::StrCat("\\emph{Published: ", EscapeLatex(name),
                                                "}\\lracite{", name, "}")));
      for (const PublishedRows::Row& row : published.rows) absl::StrAppend(&text, PrintedLine(row));
    }
    return absl::StrCat(text, "\\bottomrule\n\\end{tabular}");
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes = {absl::StrFormat(
        "$\\pm$: %g\\,\\%% interval of the mean score over new seeds and new examples, the larger "
        "arm "
        "where they differ by one digit. Bold: the best mean, and methods that %sare not told from "
        "it by the intervals of both.",
        100 * board_.options.confidence,
        used_.contains(internal::PaperMark::kLetters) ? "share a letter with it or " : "")};
    for (const internal::PaperMarkText& mark : internal::PaperMarks()) {
      if (!used_.contains(mark.mark)) continue;
      notes.push_back(mark.symbol[0] == '\0' ? mark.explanation
                                             : absl::StrCat("\\textsuperscript{", mark.symbol, "}~",
                                                            mark.explanation));
    }
    if (!costs_.empty()) notes.push_back(EscapeLatex(internal::CostLegend(table_)));
    for (const std::string& builds : table_.builds) notes.push_back(BreakableLatex(builds));
    if (!table_.differs.empty()) notes.push_back(BreakableLatex(table_.differs));
    for (const PublishedRows& published : table_.published) {
      const PublishedTable& source = published.table;
      notes.push_back(BreakableLatex(absl::StrCat(
          source.name(), ": ", SourceText(source), ", as printed, other code and settings.",
          source.spread().empty() ? "" : absl::StrCat(" In brackets: ", source.spread(), "."))));
    }
    return notes;
  }

  const Leaderboard& board_;
  const LeaderboardTable& table_;
  const size_t index_;
  std::vector<internal::PaperColumn> columns_;
  std::vector<internal::CostColumn> costs_;
  std::set<internal::PaperMark> used_;
};

}  // namespace

std::string WritePaperTables(const Leaderboard& board) {
  std::string text = kPreamble;
  for (size_t t = 0; t < board.tables.size(); ++t) text += PaperTable(board, t).Text();
  return text;
}

}  // namespace lra
