#include "bench/figure.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "bench/child.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using Points = std::vector<LengthPoint> (*)(const Series&);

std::string Quoted(const std::string& text) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}, {"_", "\\\\_"}}), "\"");
}

// Inline data of each series, by name.
std::string DataBlocks(const Panel& panel, const char* name, Points points) {
  std::string text;
  for (size_t i = 0; i < panel.series.size(); ++i) {
    absl::StrAppend(&text, "$", name, i, " << END\n");
    for (const LengthPoint& point : points(panel.series[i]))
      absl::StrAppendFormat(&text, "%.0f %.9g\n", point.tokens, point.value);
    absl::StrAppend(&text, "END\n");
  }
  return text;
}

std::string Plot(const Panel& panel, const char* name, Points points, const char* scale) {
  std::vector<std::string> curves;
  for (size_t i = 0; i < panel.series.size(); ++i) {
    if (points(panel.series[i]).empty()) continue;
    curves.push_back(absl::StrFormat("$%s%d using 1:($2%s) with linespoints title %s", name, i,
                                     scale, Quoted(panel.series[i].label)));
  }
  std::string text;
  for (const std::string& curve : curves)
    absl::StrAppend(&text, text.empty() ? "plot " : ", \\\n  ", curve);
  return curves.empty() ? "" : text + "\n";
}

bool HasPoints(const Panel& panel) {
  return std::any_of(panel.series.begin(), panel.series.end(),
                     [](const Series& series) { return !TimePoints(series).empty(); });
}

absl::Status Draw(const std::string& gnuplot, const std::string& program) {
  const absl::StatusOr<ChildOutcome> child = RunChild({{gnuplot, program}, {}});
  if (!child.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no figure: ", child.status().message(),
                     "; install gnuplot (Debian: gnuplot-nox) and run: gnuplot ", program));
  }
  if (child->exit_code == 0 && child->signal == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("gnuplot ", program, ": ", LastLine(child->errors)));
}

}  // namespace

std::string GnuplotProgram(const Panel& panel, const std::string& svg) {
  std::string text = absl::StrCat(
      "set terminal svg size 1200,560 dynamic\nset output ", "\"", svg, "\"\n",
      DataBlocks(panel, "time", TimePoints), DataBlocks(panel, "memory", MemoryPoints),
      "set multiplot layout 1,2 title ", Quoted(panel.title),
      "\nset logscale xy\nset logscale x 2\nset xlabel \"N\"\nset key left top\nset grid\n",
      "set ylabel \"ms\"\n", Plot(panel, "time", TimePoints, "*1e3"));
  const std::string memory = Plot(panel, "memory", MemoryPoints, "/1e6");
  if (!memory.empty()) absl::StrAppend(&text, "set ylabel \"MB\"\n", memory);
  return text + "unset multiplot\n";
}

absl::StatusOr<std::vector<std::string>> DrawFigures(const std::vector<Panel>& panels,
                                                     const std::string& prefix,
                                                     const std::string& gnuplot) {
  std::vector<std::string> pictures, programs;
  for (const Panel& panel : panels) {
    if (!HasPoints(panel)) continue;
    const std::string name = absl::StrCat(prefix, "-", programs.size() + 1);
    pictures.push_back(name + ".svg");
    programs.push_back(name + ".gp");
    LRA_RETURN_IF_ERROR(
        WriteFileAtomically(programs.back(), GnuplotProgram(panel, pictures.back())));
  }
  for (const std::string& program : programs) LRA_RETURN_IF_ERROR(Draw(gnuplot, program));
  return pictures;
}

}  // namespace lra
