#include "bench/column_figure.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/gnuplot.h"
#include "lra/text_columns.h"

namespace lra {
namespace {

constexpr size_t kLegendCharacters = 40;
// Room right of a plot, for the half of the last number; between parts of a figure.
constexpr double kRightPoints = 15, kGapPoints = 4;

std::vector<std::string> TitleLines(const std::string& title) {
  return title.empty() ? std::vector<std::string>() : WrapText(title, kColumnCharacters);
}

// How many entries stand side by side. Broken ones need a column of their own.
size_t LegendColumns(const std::vector<LegendEntry>& legend) {
  size_t longest = 0;
  for (const LegendEntry& entry : legend) longest = std::max(longest, CountCharacters(entry.label));
  return longest <= 10 ? 3 : longest <= 19 ? 2 : 1;
}

// What the legend's `plot` draws: each entry, and its label's further lines beside nothing.
std::vector<std::string> LegendLines(const std::vector<LegendEntry>& legend) {
  std::vector<std::string> drawn;
  for (const LegendEntry& entry : legend) {
    const std::vector<std::string> lines = WrapText(entry.label, kLegendCharacters);
    drawn.push_back(absl::StrCat("NaN with ", entry.style, " title ", PlainQuoted(lines.front())));
    for (size_t i = 1; i < lines.size(); ++i)
      drawn.push_back(absl::StrCat("NaN with lines lc bgnd title ", PlainQuoted("  " + lines[i])));
  }
  return drawn;
}

// Where parts lie, in points from the top.
struct Layout {
  struct Spot {
    double top = 0, bottom = 0;
  };
  std::vector<Spot> plots;
  size_t legend_rows = 0;
  double legend_top = 0;
  int height = 0;
  // A place from the bottom, in shares of the height, which is how gnuplot has it.
  std::string Share(double points) const { return absl::StrFormat("%.4f", 1 - points / height); }
};

double LinesPoints(const std::string& title) {
  return title.empty() ? 0 : kColumnLinePoints * TitleLines(title).size() + kGapPoints;
}

Layout LayOut(const ColumnFigure& figure) {
  Layout layout;
  double at = LinesPoints(figure.title);
  for (const ColumnPlot& plot : figure.plots) {
    at += kGapPoints + LinesPoints(plot.title);
    layout.plots.push_back({at, at + plot.height});
    at += plot.height + plot.below;
  }
  layout.legend_top = at;
  if (!figure.legend.empty()) {
    const size_t columns = LegendColumns(figure.legend);
    layout.legend_rows = (LegendLines(figure.legend).size() + columns - 1) / columns;
    at += kColumnLinePoints * layout.legend_rows + 2 * kGapPoints;
  }
  layout.height = static_cast<int>(std::ceil(at));
  return layout;
}

std::string Margins(const Layout& layout, const Layout::Spot& spot, double left, double right) {
  return absl::StrFormat(
      "set tmargin at screen %s\nset bmargin at screen %s\nset lmargin at screen %.4f\n"
      "set rmargin at screen %.4f\n",
      layout.Share(spot.top), layout.Share(spot.bottom), left / kColumnPoints,
      1 - right / kColumnPoints);
}

// An empty plot, whose key is the legend.
std::string LegendCommands(const std::vector<LegendEntry>& legend, const Layout& layout) {
  return absl::StrCat(
      "unset border\nunset tics\nunset grid\nunset title\nunset xlabel\nunset arrow\nunset label\n"
      "unset logscale\nset xrange [0:1]\nset yrange [0:1]\n",
      Margins(layout, {layout.legend_top, double(layout.height)}, 0, 0),
      absl::StrFormat("set key at screen %.4f,%s left top Left reverse samplen 2 vertical maxrows "
                      "%d\nplot ",
                      kGapPoints / kColumnPoints, layout.Share(layout.legend_top),
                      layout.legend_rows),
      absl::StrJoin(LegendLines(legend), ", "), "\n");
}

// Once more for each format, because gnuplot repeats no more than one plot.
std::string DrawingCommands(const ColumnFigure& figure, const Layout& layout) {
  std::string text = "set key off\nset multiplot\n";
  if (!figure.title.empty()) {
    absl::StrAppend(&text, "set label ", QuotedLines(TitleLines(figure.title)), " at screen 0.5,",
                    layout.Share(kGapPoints + kColumnLinePoints / 2), " center\n");
  }
  for (size_t i = 0; i < figure.plots.size(); ++i) {
    const ColumnPlot& plot = figure.plots[i];
    absl::StrAppend(&text, Margins(layout, layout.plots[i], plot.left, kRightPoints));
    if (!plot.title.empty()) {
      absl::StrAppend(&text, "set title ", QuotedLines(TitleLines(plot.title)), " offset 0,-0.6\n");
    }
    absl::StrAppend(&text, plot.commands);
    if (i == 0) absl::StrAppend(&text, "unset label\n");
  }
  if (!figure.legend.empty()) absl::StrAppend(&text, LegendCommands(figure.legend, layout));
  return text + "unset multiplot\n";
}

}  // namespace

std::vector<std::string> WrapText(const std::string& text, size_t most) {
  std::vector<std::string> lines = {""};
  for (std::string word : std::vector<std::string>(absl::StrSplit(text, ' '))) {
    const std::string joined = lines.back().empty() ? word : absl::StrCat(lines.back(), " ", word);
    if (CountCharacters(joined) <= most) {
      lines.back() = joined;
      continue;
    }
    if (lines.back().empty()) lines.pop_back();
    while (CountCharacters(word) > most) {
      const size_t end = EndOfCharacters(word, most);
      lines.push_back(word.substr(0, end));
      word = word.substr(end);
    }
    lines.push_back(word);
  }
  return lines;
}

std::string QuotedLines(const std::vector<std::string>& lines) {
  return absl::StrJoin(lines, ".\"\\n\".", [](std::string* out, const std::string& line) {
    absl::StrAppend(out, PlainQuoted(line));
  });
}

std::string ColumnAxisName(const std::vector<std::string>& lines) {
  return absl::StrCat("set xlabel ", QuotedLines(lines), " offset 0,0.6\n");
}

std::string ColumnProgram(const ColumnFigure& figure, const std::string& stem) {
  const Layout layout = LayOut(figure);
  const std::string commands = DrawingCommands(figure, layout);
  std::string text;
  for (const PictureFormat format : {PictureFormat::kPdf, PictureFormat::kPng}) {
    absl::StrAppend(&text, "reset\n", ColumnTerminal(format, stem, layout.height), kColumnStyle,
                    commands, "unset output\n");
  }
  return text;
}

}  // namespace lra
