#include "bench/figure.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/column_figure.h"
#include "bench/gnuplot.h"

namespace lra {
namespace {

using PointsOfSeries = std::vector<LengthPoint> (*)(const Series&);

// Inline data of each series, by name.
std::string DataBlocks(const Panel& panel, const char* name, PointsOfSeries points) {
  std::string text;
  for (size_t i = 0; i < panel.series.size(); ++i) {
    absl::StrAppend(&text, "$", name, i, " << END\n");
    for (const LengthPoint& point : points(panel.series[i]))
      absl::StrAppendFormat(&text, "%.0f %.9g\n", point.at, point.value);
    absl::StrAppend(&text, "END\n");
  }
  return text;
}

// A series has its place's line type where `is_typed`; else gnuplot counts those that are drawn.
std::string Plot(const Panel& panel, const char* name, PointsOfSeries points, const char* scale,
                 bool is_typed) {
  std::vector<std::string> curves;
  for (size_t i = 0; i < panel.series.size(); ++i) {
    if (points(panel.series[i]).empty()) continue;
    const std::string type = is_typed ? absl::StrCat(" lt ", i + 1, " ps 0.5") : "";
    curves.push_back(absl::StrFormat("$%s%d using 1:($2%s) with linespoints%s title %s", name, i,
                                     scale, type, GnuplotText(panel.series[i].label)));
  }
  return curves.empty() ? "" : absl::StrCat("plot ", absl::StrJoin(curves, ", \\\n  "), "\n");
}

// Whether a series has a line: a point alone says no more than the table.
bool HasCurve(const Panel& panel) {
  return std::any_of(panel.series.begin(), panel.series.end(),
                     [](const Series& series) { return TimePoints(series).size() > 1; });
}

std::string EfficiencyOnScreen(const Panel& panel, const std::string& stem) {
  std::string text = absl::StrCat(
      ScreenTerminal(stem, 1200, 560, "background 'white'"), "set multiplot layout 1,2 title ",
      GnuplotText(panel.title), "\nset logscale xy\nset logscale x 2\nset xlabel \"",
      AxisName(panel.axis()), "\"\nset key left top\nset grid\nset ylabel \"ms\"\n",
      Plot(panel, "time", TimePoints, "*1e3", false));
  const std::string memory = Plot(panel, "memory", MemoryPoints, "/1e6", false);
  if (!memory.empty()) absl::StrAppend(&text, "set ylabel \"MB\"\n", memory);
  return text + "unset multiplot\n";
}

// A range between powers of two, of which as many have a number as a column has room for.
std::string LengthRange(const Panel& panel) {
  double least = std::numeric_limits<double>::infinity(), most = 1;
  for (const Series& series : panel.series) {
    for (const LengthPoint& point : TimePoints(series)) {
      least = std::min(least, point.at);
      most = std::max(most, point.at);
    }
  }
  const int low = static_cast<int>(std::floor(std::log2(std::min(least, most))));
  const int high = static_cast<int>(std::ceil(std::log2(most)));
  const double number_points = 4 + 5.1 * absl::StrFormat("%.0f", std::exp2(high)).size();
  const int step = std::max(1, static_cast<int>(std::ceil((high - low) * number_points / 185)));
  std::vector<std::string> ticks;
  for (int power = low; power <= high; power += step)
    ticks.push_back(absl::StrFormat("%.0f", std::exp2(power)));
  // A little wider, or rounding would lose the numbers at the ends.
  return absl::StrFormat("set xrange [%g:%g]\nset xtics (%s)\n", 0.999 * std::exp2(low),
                         1.001 * std::exp2(high), absl::StrJoin(ticks, ", "));
}

// Time above memory.
ColumnFigure EfficiencyColumn(const Panel& panel) {
  ColumnFigure figure = {panel.title, {}, {}};
  figure.plots.push_back({"time in ms",
                          absl::StrCat("set logscale xy\nset logscale x 2\n", LengthRange(panel),
                                       Plot(panel, "time", TimePoints, "*1e3", true)),
                          110});
  const std::string memory = Plot(panel, "memory", MemoryPoints, "/1e6", true);
  if (!memory.empty()) figure.plots.push_back({"memory in MB", memory, 110});
  ColumnPlot& last = figure.plots.back();
  last.commands = ColumnAxisName({AxisName(panel.axis())}) + last.commands;
  last.below = kNamedAxisPoints;
  for (size_t i = 0; i < panel.series.size(); ++i) {
    if (TimePoints(panel.series[i]).empty()) continue;
    figure.legend.push_back(
        {panel.series[i].label, absl::StrCat("linespoints lt ", i + 1, " ps 0.5")});
  }
  return figure;
}

}  // namespace

std::string GnuplotProgram(const Panel& panel, const std::string& stem) {
  return absl::StrCat(kFigureLineTypes, DataBlocks(panel, "time", TimePoints),
                      DataBlocks(panel, "memory", MemoryPoints), EfficiencyOnScreen(panel, stem),
                      ColumnProgram(EfficiencyColumn(panel), stem));
}

absl::StatusOr<std::vector<std::string>> DrawFigures(const std::vector<Panel>& panels,
                                                     const std::string& prefix,
                                                     const std::string& gnuplot) {
  std::vector<GnuplotPicture> pictures;
  for (const Panel& panel : panels) {
    if (!HasCurve(panel)) continue;
    pictures.push_back([&panel](const std::string& stem) { return GnuplotProgram(panel, stem); });
  }
  return DrawPictures(pictures, prefix, gnuplot);
}

}  // namespace lra
