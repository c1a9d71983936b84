// Curves drawn in a terminal: axes with numbers, dots of braille (2 x 4 in a character) or ASCII.
#ifndef LRA_EVAL_CURVE_PLOT_H_
#define LRA_EVAL_CURVE_PLOT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "eval/metric.h"
#include "eval/run_record.pb.h"

namespace lra {

struct PlotSeries {
  std::string name;
  // (x, y), x rising; values that are not finite are left out.
  std::vector<std::pair<double, double>> points;
  // Drawn at each point; ' ' draws a line instead.
  char mark = ' ';
};

struct PlotOptions {
  std::string title;
  // Size of the whole picture in characters, axis and labels included; at least 20 x 5.
  int columns = 80;
  int rows = 12;
  bool unicode = true;
};

// Lines of text, each ended by '\n': title and legend, the picture, the x axis. Without a finite
// point it says so instead.
std::string PlotCurves(const std::vector<PlotSeries>& series, const PlotOptions& options);

// Loss (nats) and the metric by step, training as lines and validation as marks; then what
// attentions learned of their own choices, if anything.
std::string PlotRun(const RunRecord& record, const Metric& metric, int columns, bool unicode);

}  // namespace lra

#endif  // LRA_EVAL_CURVE_PLOT_H_
