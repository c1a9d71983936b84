// Pictures through gnuplot.
#ifndef LRA_BENCH_GNUPLOT_H_
#define LRA_BENCH_GNUPLOT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lra {

// A text that is shown as it is, without markup: in single quotes, inside of which gnuplot runs no
// commands.
std::string GnuplotText(const std::string& text);

// The program, data included, that draws a picture into the file `svg`.
using GnuplotPicture = std::function<std::string(const std::string& svg)>;

// Writes PREFIX-1.gp and PREFIX-1.svg, ... and returns the pictures' names. FailedPrecondition,
// with what to install, where there is no `gnuplot`; the programs are then there all the same.
absl::StatusOr<std::vector<std::string>> DrawPictures(const std::vector<GnuplotPicture>& pictures,
                                                      const std::string& prefix,
                                                      const std::string& gnuplot = "gnuplot");

}  // namespace lra

#endif  // LRA_BENCH_GNUPLOT_H_
