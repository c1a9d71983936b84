// Pictures through gnuplot: its terminals, texts and line types.
#ifndef LRA_BENCH_GNUPLOT_H_
#define LRA_BENCH_GNUPLOT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lra {

// A text that is shown as it is, for terminals with markup: in single quotes, inside of which
// gnuplot runs no commands.
std::string GnuplotText(const std::string& text);

// The same for terminals without markup.
std::string PlainQuoted(const std::string& text);

// gnuplot's commands for line types 1 to 14: Okabe and Ito's colours but yellow, which is faint on
// paper, twice; lines and points differ as well.
extern const char kFigureLineTypes[];

// The distance of ticks, 1, 2 or 5 times a power of ten, of which at most five fit: gnuplot's own
// numbers run into each other in a narrow figure.
std::string TickDistance(double low, double high);

// Begins STEM.svg, which browsers scale; sizes are in pixels. `options` are more of the terminal's,
// such as "noenhanced".
std::string ScreenTerminal(const std::string& stem, int width, int height,
                           const std::string& options);

// The width of a paper's column, 84 mm, in points of 1/72 inch.
inline constexpr int kColumnPoints = 238;

enum class PictureFormat { kSvg, kPdf, kPng };

// Begins STEM.svg, STEM.pdf or STEM.png, a column wide, with letters of 8 points and no markup. An
// SVG has pixels for points, which browsers scale.
std::string ColumnTerminal(PictureFormat format, const std::string& stem, int height_points);

// Thin axes and a pale grid, for pictures a column wide.
extern const char kColumnStyle[];

// The program, data included, that draws a picture into STEM.svg, STEM.pdf and STEM.png.
using GnuplotPicture = std::function<std::string(const std::string& stem)>;

// Writes PREFIX-1.gp, draws PREFIX-1.svg, .pdf and .png, ... and returns the stems PREFIX-1, ...
// One program and one gnuplot make the same bytes at any time, except the PDFs of cairo 1.18 and
// later, whose time of drawing is compressed; a note on standard error names the first.
// FailedPrecondition, with what to install, where there is no `gnuplot` or it lacks a terminal; the
// programs are then there all the same.
absl::StatusOr<std::vector<std::string>> DrawPictures(const std::vector<GnuplotPicture>& pictures,
                                                      const std::string& prefix,
                                                      const std::string& gnuplot = "gnuplot");

// "PREFIX-1.svg, .pdf and .png": what was drawn, in words.
std::string PictureFiles(const std::string& stem);

}  // namespace lra

#endif  // LRA_BENCH_GNUPLOT_H_
