#include "bench/figure.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/curve_figure.h"
#include "bench/gnuplot.h"

namespace lra {
namespace {

using Points = std::vector<LengthPoint> (*)(const Series&);

// Inline data of each series, by name.
std::string DataBlocks(const Panel& panel, const char* name, Points points) {
  std::string text;
  for (size_t i = 0; i < panel.series.size(); ++i) {
    absl::StrAppend(&text, "$", name, i, " << END\n");
    for (const LengthPoint& point : points(panel.series[i]))
      absl::StrAppendFormat(&text, "%.0f %.9g\n", point.at, point.value);
    absl::StrAppend(&text, "END\n");
  }
  return text;
}

std::string Plot(const Panel& panel, const char* name, Points points, const char* scale) {
  std::vector<std::string> curves;
  for (size_t i = 0; i < panel.series.size(); ++i) {
    if (points(panel.series[i]).empty()) continue;
    curves.push_back(absl::StrFormat("$%s%d using 1:($2%s) with linespoints title %s", name, i,
                                     scale, GnuplotText(panel.series[i].label)));
  }
  std::string text;
  for (const std::string& curve : curves)
    absl::StrAppend(&text, text.empty() ? "plot " : ", \\\n  ", curve);
  return curves.empty() ? "" : text + "\n";
}

// Whether a series has a line: a point alone says no more than the table.
bool HasCurve(const Panel& panel) {
  return std::any_of(panel.series.begin(), panel.series.end(),
                     [](const Series& series) { return TimePoints(series).size() > 1; });
}

}  // namespace

std::string GnuplotProgram(const Panel& panel, const std::string& svg) {
  std::string text =
      absl::StrCat("set terminal svg size 1200,560 dynamic background 'white'\nset output ", "\"",
                   svg, "\"\n", kFigureLineTypes, DataBlocks(panel, "time", TimePoints),
                   DataBlocks(panel, "memory", MemoryPoints), "set multiplot layout 1,2 title ",
                   GnuplotText(panel.title), "\nset logscale xy\nset logscale x 2\nset xlabel \"",
                   AxisName(panel.axis()), "\"\nset key left top\nset grid\nset ylabel \"ms\"\n",
                   Plot(panel, "time", TimePoints, "*1e3"));
  const std::string memory = Plot(panel, "memory", MemoryPoints, "/1e6");
  if (!memory.empty()) absl::StrAppend(&text, "set ylabel \"MB\"\n", memory);
  return text + "unset multiplot\n";
}

absl::StatusOr<std::vector<std::string>> DrawFigures(const std::vector<Panel>& panels,
                                                     const std::string& prefix,
                                                     const std::string& gnuplot) {
  std::vector<GnuplotPicture> pictures;
  for (const Panel& panel : panels) {
    if (!HasCurve(panel)) continue;
    pictures.push_back([&panel](const std::string& svg) { return GnuplotProgram(panel, svg); });
  }
  return DrawPictures(pictures, prefix, gnuplot);
}

}  // namespace lra
