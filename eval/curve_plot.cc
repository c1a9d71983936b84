#include "eval/curve_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "eval/axis_title.h"
#include "eval/curve_values.h"
#include "eval/learned_numbers.h"
#include "lra/progress.h"
#include "lra/text_columns.h"

namespace lra {
namespace {

constexpr int kAxisColumns = 8;  // a number of six characters, a blank and the axis

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Returns the place of a value in the range, from 0 to 1. In a range of one value it is the
  // middle.
  double Fraction(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

// A character of the picture: braille dots, as bits to add to U+2800, and a mark that hides them.
struct Cell {
  unsigned dots = 0;
  char mark = ' ';
};

bool IsFinite(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

class Picture {
 public:
  Picture(int columns, int rows, Extent x, Extent y)
      : columns_(columns), rows_(rows), x_(x), y_(y), cells_(columns * rows) {}

  void Draw(const PlotSeries& series) {
    const std::pair<double, double>* last = nullptr;
    for (const auto& point : series.points) {
      if (!IsFinite(point)) continue;
      if (series.mark != ' ') {
        Mark(point, series.mark);
      } else {
        Line(last == nullptr ? point : *last, point);
      }
      last = &point;
    }
  }

  std::string Row(int row, bool unicode) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[row * columns_ + column];
      if (cell.mark != ' ' || cell.dots == 0) {
        text += cell.mark;
      } else if (unicode) {
        AppendBraille(cell.dots, &text);
      } else {
        text += '.';
      }
    }
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }

 private:
  int DotX(double x) const { return Place(x_.Fraction(x), 2 * columns_); }
  int DotY(double y) const { return Place(1 - y_.Fraction(y), 4 * rows_); }
  static int Place(double fraction, int count) {
    return std::clamp(static_cast<int>(std::lround(fraction * (count - 1))), 0, count - 1);
  }

  void Mark(const std::pair<double, double>& point, char mark) {
    cells_[DotY(point.second) / 4 * columns_ + DotX(point.first) / 2].mark = mark;
  }

  void Line(const std::pair<double, double>& from, const std::pair<double, double>& to) {
    const int x0 = DotX(from.first), y0 = DotY(from.second);
    const int x1 = DotX(to.first), y1 = DotY(to.second);
    const int count = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= count; ++i) {
      const double t = static_cast<double>(i) / count;
      Dot(static_cast<int>(std::lround(x0 + t * (x1 - x0))),
          static_cast<int>(std::lround(y0 + t * (y1 - y0))));
    }
  }

  void Dot(int x, int y) {
    // In braille of Unicode 15 (U+2800 and up), dots 1, 2, 3 and 7 go down the left column, and
    // dots 4, 5, 6 and 8 down the right.
    static constexpr unsigned kBits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cells_[y / 4 * columns_ + x / 2].dots |= kBits[y % 4][x % 2];
  }

  // Appends the character U+2800 + dots in UTF-8.
  static void AppendBraille(unsigned dots, std::string* text) {
    *text += static_cast<char>(0xe2);
    *text += static_cast<char>(0xa0 | dots >> 6);
    *text += static_cast<char>(0x80 | (dots & 0x3f));
  }

  const int columns_, rows_;
  const Extent x_, y_;
  std::vector<Cell> cells_;
};

std::string Legend(const PlotSeries& series, bool unicode) {
  const std::string sign = series.mark != ' ' ? std::string(1, series.mark) : unicode ? "⣀" : ".";
  return absl::StrCat("  ", sign, " ", series.name);
}

// "0.1234", "1.3e-5", "2.8e16": with as many of four digits as six characters hold.
std::string ShortNumber(double value) {
  std::string text;
  for (int digits = 4; digits > 0; --digits) {
    text = absl::StrFormat("%.*g", digits, value);
    // The plus and the zero of "e-05" and "e+16" say nothing.
    absl::StrReplaceAll({{"e+0", "e"}, {"e+", "e"}, {"e-0", "e-"}}, &text);
    if (text.size() <= 6) break;
  }
  return text;
}

// Returns the number beside the top, middle and bottom rows, and blanks beside the others.
std::string RowLabel(int row, int rows, const Extent& y) {
  if (row != 0 && row != rows / 2 && row != rows - 1) return "       ";
  const double value = y.high - (y.high - y.low) * row / (rows - 1);
  return absl::StrCat(PadLeft(ShortNumber(value), 6), " ");
}

std::string XAxis(const Extent& x, int columns) {
  const std::string low = FormatCount(std::llround(x.low));
  const std::string high = FormatCount(std::llround(x.high));
  if (x.low == x.high) return absl::StrCat(std::string(kAxisColumns, ' '), "step ", low, "\n");
  const std::string name = "step";
  const int blanks = columns - static_cast<int>(low.size() + high.size() + name.size());
  return absl::StrCat(std::string(kAxisColumns, ' '), low,
                      std::string(std::max(1, blanks / 2), ' '), name,
                      std::string(std::max(1, blanks - blanks / 2), ' '), high, "\n");
}

// The mean as a line between the lowest and the highest as marks.
std::string PlotLearned(const LearnedCurve& learned, PlotOptions options) {
  PlotSeries mean{"mean", {}, ' '}, low{"lowest", {}, 'v'}, high{"highest", {}, '^'};
  for (const LearnedCurve::Point& point : learned.points) {
    const double step = static_cast<double>(point.step);
    mean.points.emplace_back(step, point.mean);
    low.points.emplace_back(step, point.low);
    high.points.emplace_back(step, point.high);
  }
  options.title = absl::StrCat("learned ", learned.name, ", over layers and heads");
  return PlotCurves({mean, low, high}, options);
}

}  // namespace

std::string PlotCurves(const std::vector<PlotSeries>& series, const PlotOptions& options) {
  Extent x, y;
  std::string text = options.title;
  for (const PlotSeries& one : series) {
    bool any = false;
    for (const auto& point : one.points) {
      if (!IsFinite(point)) continue;
      any = true;
      x.Add(point.first);
      y.Add(point.second);
    }
    if (any) text += Legend(one, options.unicode);
  }
  if (!(x.low <= x.high)) return absl::StrCat(options.title, ": no points yet\n");
  text += "\n";
  const int columns = std::max(20, options.columns) - kAxisColumns;
  const int rows = std::max(5, options.rows) - 2;  // title and x axis
  Picture picture(columns, rows, x, y);
  for (const PlotSeries& one : series) picture.Draw(one);
  for (int row = 0; row < rows; ++row) {
    absl::StrAppend(&text, RowLabel(row, rows, y), options.unicode ? "│" : "|",
                    picture.Row(row, options.unicode), "\n");
  }
  return text + XAxis(x, columns);
}

std::string PlotRun(const RunRecord& record, const Metric& metric, int columns, bool unicode) {
  PlotSeries train_loss{"train", {}, ' '}, loss{"validation", {}, 'o'};
  PlotSeries train_value{"train", {}, ' '}, value{"validation", {}, 'o'};
  const auto add = [&](double step, const MetricValues& values, PlotSeries* series) {
    const std::optional<double> found = FindValue(values, metric.name());
    if (found) series->points.emplace_back(step, metric.traits().scale * *found);
  };
  for (const CurvePoint& point : record.curve()) {
    const double step = static_cast<double>(point.step());
    train_loss.points.emplace_back(step, point.train_loss());
    if (point.has_validation_loss()) loss.points.emplace_back(step, point.validation_loss());
    add(step, point.train(), &train_value);
    add(step, point.validation(), &value);
  }
  PlotOptions options{.title = "loss in nats", .columns = columns, .rows = 14, .unicode = unicode};
  std::string text = PlotCurves({train_loss, loss}, options);
  options.title = AxisTitle(metric);
  absl::StrAppend(&text, "\n", PlotCurves({train_value, value}, options));
  for (const LearnedCurve& learned : LearnedCurves(record.curve()))
    absl::StrAppend(&text, "\n", PlotLearned(learned, options));
  return text;
}

}  // namespace lra
