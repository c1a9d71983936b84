// Figures of efficiency: time and memory over the length, through gnuplot.
#ifndef LRA_BENCH_FIGURE_H_
#define LRA_BENCH_FIGURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/efficiency_series.h"

namespace lra {

// The program that draws both curves of a panel, data included, into `svg`: both axes logarithmic.
std::string GnuplotProgram(const Panel& panel, const std::string& svg);

// A picture for every panel with a measured cell: PREFIX-1.svg, ... The errors of DrawPictures.
absl::StatusOr<std::vector<std::string>> DrawFigures(const std::vector<Panel>& panels,
                                                     const std::string& prefix,
                                                     const std::string& gnuplot = "gnuplot");

}  // namespace lra

#endif  // LRA_BENCH_FIGURE_H_
