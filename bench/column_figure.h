// Figures as wide as a column of a paper, as PDF and PNG: plots below each other, one legend below
// them all. Texts break into lines, since a column has room for some 46 characters.
#ifndef LRA_BENCH_COLUMN_FIGURE_H_
#define LRA_BENCH_COLUMN_FIGURE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace lra {

// Sizes are in points of 1/72 inch.
constexpr double kColumnLinePoints = 10.5;
// What a line has room for.
constexpr size_t kColumnCharacters = 46;
// Room below a plot for the numbers of its axis, and for its name besides.
constexpr double kNumberedAxisPoints = 14, kNamedAxisPoints = 26;

struct ColumnPlot {
  std::string title;     // above it; may be empty
  std::string commands;  // settings, which later plots inherit, and gnuplot's `plot`
  double height = 0;     // of what lies between the axes
  double below = kNumberedAxisPoints;
  double left = 38;  // for the numbers beside it
};

struct LegendEntry {
  std::string label;
  std::string style;  // what follows gnuplot's `with`: "linespoints lt 3"
};

struct ColumnFigure {
  std::string title;
  std::vector<ColumnPlot> plots;
  std::vector<LegendEntry> legend;
};

// Lines of at most `most` characters. Words that are longer break, between characters of UTF-8.
std::vector<std::string> WrapText(const std::string& text, size_t most);

// Lines below each other, as an expression of gnuplot, for terminals without markup.
std::string QuotedLines(const std::vector<std::string>& lines);

// The command that names the axis below a plot, near to its numbers.
std::string ColumnAxisName(const std::vector<std::string>& lines);

// Commands that draw STEM.pdf and STEM.png. They begin with a reset, which leaves the program's
// data and line types.
std::string ColumnProgram(const ColumnFigure& figure, const std::string& stem);

}  // namespace lra

#endif  // LRA_BENCH_COLUMN_FIGURE_H_
