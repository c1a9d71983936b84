// Figures of efficiency: time and memory over the length, through gnuplot.
#ifndef LRA_BENCH_FIGURE_H_
#define LRA_BENCH_FIGURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/efficiency_series.h"

namespace lra {

// The program that draws time and memory of a panel, data included, into STEM.svg, beside each
// other, and into STEM.pdf and STEM.png, below each other in a column. All axes are logarithmic.
std::string GnuplotProgram(const Panel& panel, const std::string& stem);

// A picture for every panel with a curve: the stems PREFIX-1, ... The errors of DrawPictures.
absl::StatusOr<std::vector<std::string>> DrawFigures(const std::vector<Panel>& panels,
                                                     const std::string& prefix,
                                                     const std::string& gnuplot = "gnuplot");

}  // namespace lra

#endif  // LRA_BENCH_FIGURE_H_
