#include "eval/heat_map.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "datasets/png.h"

namespace lra {
namespace internal {
namespace {

constexpr int64_t kMaxEntries = 1024;  // on each side, after Reduce
constexpr int kPlotPixels = 512;       // least size of the plot, if cells can be enlarged
constexpr int kMargin = 16, kTick = 6, kGap = 6, kBarWidth = 24;
constexpr int kBarSteps = 4;
constexpr size_t kMaxNamed = 64;  // tokens that are all named
constexpr int kNamedPixels = kTextHeight + 2;
constexpr size_t kMaxTokenBytes = 8;
constexpr Colour kBlack = {0, 0, 0};

struct Scale {
  double low, high;
  bool is_cut = false;  // entries above `high` have its colour
  double Place(double value) const { return (value - low) / (high - low); }
};

// Ends at the largest entry, unless few rows have far larger ones than all others: the first query
// of a causal attention gives all its weight to the one token that it sees, beside which the rest
// would be dark.
Scale ScaleOf(const AttentionMap& map) {
  constexpr double kFarLarger = 4;
  const double low = std::min(0.0, double{*std::min_element(map.values.begin(), map.values.end())});
  std::vector<double> largest;  // of each row
  for (auto row = map.values.begin(); row != map.values.end(); row += map.columns)
    largest.push_back(*std::max_element(row, row + map.columns));
  std::sort(largest.begin(), largest.end());
  const double high = largest.back(), of_most = largest[(largest.size() - 1) * 9 / 10];
  if (of_most > low && high - low > kFarLarger * (of_most - low)) return {low, of_most, true};
  return {low, high > low ? high : low + 1};
}

std::string BarLabel(const Scale& scale, int step) {
  return absl::StrFormat("%s%.3g", scale.is_cut && step == kBarSteps ? ">= " : "",
                         scale.low + (scale.high - scale.low) * step / kBarSteps);
}

std::string TokenAt(const HeatMapLabels& labels, int64_t place) {
  if (place >= static_cast<int64_t>(labels.tokens.size())) return "";
  return labels.tokens[place].substr(0, kMaxTokenBytes);
}

bool NamesAll(const HeatMapLabels& labels) {
  return !labels.tokens.empty() && labels.tokens.size() <= kMaxNamed;
}

int WidestToken(const HeatMapLabels& labels) {
  int widest = 0;
  for (size_t i = 0; i < labels.tokens.size(); ++i)
    widest = std::max(widest, TextWidth(TokenAt(labels, static_cast<int64_t>(i))));
  return widest;
}

// Where things are drawn; the plot is rows * cell pixels high.
struct Layout {
  Layout(const AttentionMap& map, const HeatMapLabels& labels, const Scale& scale)
      : cell(std::max<int>(NamesAll(labels) ? kNamedPixels : 1,
                           kPlotPixels / static_cast<int>(std::max(map.rows, map.columns)))),
        plot_width(static_cast<int>(map.columns) * cell),
        plot_height(static_cast<int>(map.rows) * cell),
        token_width(WidestToken(labels)),
        is_upright(token_width <= cell) {
    const int number = TextWidth(absl::StrCat(map.rows)) + kGap;
    const bool has_tokens = !labels.tokens.empty();
    left = kMargin + kTextHeight + kGap + (NamesAll(labels) ? 0 : number) +
           (has_tokens ? token_width + kGap : 0) + kTick;
    bar_left = left + plot_width + 2 * kMargin;
    below_ticks = !NamesAll(labels) ? (has_tokens ? 2 * kTextHeight : kTextHeight)
                  : is_upright      ? kTextHeight
                                    : token_width;
    int label_width = 0;
    for (int i = 0; i <= kBarSteps; ++i)
      label_width = std::max(label_width, TextWidth(BarLabel(scale, i)));
    width = bar_left + kBarWidth + kTick + kGap + label_width + kMargin;
    width = std::max(width, TextWidth(labels.title) + 2 * kMargin);
    height = top + std::max(plot_height, 6 * kTextHeight) + kTick + kGap + below_ticks + kGap +
             kTextHeight + kMargin;
  }

  int cell, plot_width, plot_height, token_width;
  bool is_upright;  // every column's name fits below it; turned, "u" is read as "c", "-" as "|"
  int top = kMargin + kTextHeight + kMargin;
  int left = 0, bar_left = 0;
  int below_ticks = 0;  // height of what stands under the ticks of the columns
  int width = 0, height = 0;
};

// Draws a frame of one pixel just outside of the rectangle.
void DrawFrame(Canvas* canvas, int x, int y, int w, int h) {
  canvas->Fill(x - 1, y - 1, w + 2, 1, kBlack);
  canvas->Fill(x - 1, y + h, w + 2, 1, kBlack);
  canvas->Fill(x - 1, y - 1, 1, h + 2, kBlack);
  canvas->Fill(x + w, y - 1, 1, h + 2, kBlack);
}

void DrawCells(const AttentionMap& map, const Layout& at, const Scale& scale, Canvas* canvas) {
  for (int64_t i = 0; i < map.rows; ++i) {
    for (int64_t j = 0; j < map.columns; ++j) {
      canvas->Fill(at.left + static_cast<int>(j) * at.cell, at.top + static_cast<int>(i) * at.cell,
                   at.cell, at.cell, ViridisColour(scale.Place(map.values[i * map.columns + j])));
    }
  }
  DrawFrame(canvas, at.left, at.top, at.plot_width, at.plot_height);
}

void DrawColumnTick(const std::string& number, const std::string& token, int x, int bottom,
                    Canvas* canvas) {
  canvas->Fill(x, bottom, 1, kTick, kBlack);
  const int below = bottom + kTick + kGap;
  DrawText(canvas, x - TextWidth(number) / 2, below, number);
  DrawText(canvas, x - TextWidth(token) / 2, below + kTextHeight, token);
}

void DrawRowTick(const std::string& text, int y, int left, Canvas* canvas) {
  canvas->Fill(left - kTick, y, kTick, 1, kBlack);
  DrawText(canvas, left - kTick - kGap - TextWidth(text), y - kTextHeight / 2 + 1, text);
}

// Names every row and column.
void DrawTokens(const AttentionMap& map, const HeatMapLabels& labels, const Layout& at,
                Canvas* canvas) {
  const int below = at.top + at.plot_height + kTick + kGap;
  for (int64_t i = 0; i < map.columns; ++i) {
    const std::string token = TokenAt(labels, i);
    const int width = TextWidth(token), x = at.left + static_cast<int>(i) * at.cell;
    if (at.is_upright) {
      DrawText(canvas, x + (at.cell - width) / 2, below, token);
    } else {
      DrawText(canvas, x + (at.cell - kTextHeight) / 2, below + width, token, /*upwards=*/true);
    }
  }
  for (int64_t i = 0; i < map.rows; ++i)
    DrawRowTick(TokenAt(labels, i), at.top + static_cast<int>(i) * at.cell + at.cell / 2, at.left,
                canvas);
}

// Numbers some rows and columns. `factor` is the number of the matrix's entries that one entry of
// the picture stands for, along a side.
void DrawTicks(const AttentionMap& map, int64_t factor, const HeatMapLabels& labels,
               const Layout& at, Canvas* canvas) {
  const auto place = [&](int64_t entry) {
    return static_cast<int>(entry / factor) * at.cell + at.cell / 2;
  };
  for (const int64_t tick : TickPositions(map.columns * factor, 6)) {
    DrawColumnTick(absl::StrCat(tick), TokenAt(labels, tick), at.left + place(tick),
                   at.top + at.plot_height, canvas);
  }
  for (const int64_t tick : TickPositions(map.rows * factor, 6)) {
    const std::string token = TokenAt(labels, tick);
    DrawRowTick(token.empty() ? absl::StrCat(tick) : absl::StrCat(tick, " ", token),
                at.top + place(tick), at.left, canvas);
  }
}

void DrawAxes(const AttentionMap& map, int64_t factor, const HeatMapLabels& labels,
              const Layout& at, Canvas* canvas) {
  if (NamesAll(labels)) {
    DrawTokens(map, labels, at, canvas);
  } else {
    DrawTicks(map, factor, labels, at, canvas);
  }
  DrawText(canvas, at.left + (at.plot_width - TextWidth(labels.columns)) / 2,
           at.top + at.plot_height + kTick + kGap + at.below_ticks + kGap, labels.columns);
  DrawText(canvas, kMargin, at.top + (at.plot_height + TextWidth(labels.rows)) / 2, labels.rows,
           /*upwards=*/true);
  DrawText(canvas, std::max(kMargin, (at.width - TextWidth(labels.title)) / 2), kMargin,
           labels.title);
}

void DrawBar(const Layout& at, const Scale& scale, Canvas* canvas) {
  for (int y = 0; y < at.plot_height; ++y) {
    const double t = at.plot_height > 1 ? 1 - y / (at.plot_height - 1.0) : 1;
    canvas->Fill(at.bar_left, at.top + y, kBarWidth, 1, ViridisColour(t));
  }
  DrawFrame(canvas, at.bar_left, at.top, kBarWidth, at.plot_height);
  for (int i = 0; i <= kBarSteps; ++i) {
    const int y = at.top + (at.plot_height - 1) * (kBarSteps - i) / kBarSteps;
    canvas->Fill(at.bar_left + kBarWidth, y, kTick, 1, kBlack);
    DrawText(canvas, at.bar_left + kBarWidth + kTick + kGap, y - kTextHeight / 2 + 1,
             BarLabel(scale, i));
  }
}

}  // namespace

Colour ViridisColour(double t) {
  constexpr double kAnchors[][3] = {{68, 1, 84},    {71, 44, 122},  {59, 81, 139},
                                    {44, 113, 142}, {33, 144, 141}, {39, 173, 129},
                                    {92, 200, 99},  {170, 220, 50}, {253, 231, 37}};
  constexpr int kLast = std::size(kAnchors) - 1;
  const double place = std::clamp(t, 0.0, 1.0) * kLast;
  const int below = std::min(static_cast<int>(place), kLast - 1);
  const double part = place - below;
  Colour colour;
  for (int i = 0; i < 3; ++i) {
    const double value = kAnchors[below][i] * (1 - part) + kAnchors[below + 1][i] * part;
    colour[i] = static_cast<uint8_t>(std::lround(value));
  }
  return colour;
}

void Canvas::Fill(int x, int y, int w, int h, const Colour& colour) {
  for (int row = std::max(0, y); row < std::min(height, y + h); ++row) {
    for (int column = std::max(0, x); column < std::min(width, x + w); ++column) {
      std::copy(colour.begin(), colour.end(), rgb.begin() + (size_t{3} * width * row + 3 * column));
    }
  }
}

Colour Canvas::At(int x, int y) const {
  const size_t at = (static_cast<size_t>(width) * y + x) * 3;
  return {rgb[at], rgb[at + 1], rgb[at + 2]};
}

std::vector<int64_t> TickPositions(int64_t n, int most) {
  int64_t step = 1;
  for (int64_t power = 1; (n + step - 1) / step > most; power *= 10) {
    for (const int64_t digit : {1, 2, 5}) {
      step = digit * power;
      if ((n + step - 1) / step <= most) break;
    }
  }
  std::vector<int64_t> ticks;
  for (int64_t tick = 0; tick < n; tick += step) ticks.push_back(tick);
  return ticks;
}

AttentionMap Reduce(const AttentionMap& map, int64_t factor) {
  AttentionMap reduced = {
      (map.rows + factor - 1) / factor, (map.columns + factor - 1) / factor, {}};
  for (int64_t i = 0; i < map.rows; i += factor) {
    for (int64_t j = 0; j < map.columns; j += factor) {
      double sum = 0;
      const int64_t end_row = std::min(map.rows, i + factor);
      const int64_t end_column = std::min(map.columns, j + factor);
      for (int64_t row = i; row < end_row; ++row) {
        for (int64_t column = j; column < end_column; ++column)
          sum += map.values[row * map.columns + column];
      }
      const auto entries = static_cast<double>((end_row - i) * (end_column - j));
      reduced.values.push_back(static_cast<float>(sum / entries));
    }
  }
  return reduced;
}

DrawnHeatMap DrawHeatMap(const AttentionMap& map, const HeatMapLabels& labels) {
  const int64_t longest = std::max(map.rows, map.columns);
  const int64_t factor = (longest + kMaxEntries - 1) / kMaxEntries;
  const AttentionMap reduced = factor == 1 ? map : Reduce(map, factor);
  const Scale scale = ScaleOf(reduced);
  const Layout layout(reduced, labels, scale);
  DrawnHeatMap drawn = {Canvas(layout.width, layout.height), layout.left, layout.top, layout.cell};
  DrawCells(reduced, layout, scale, &drawn.canvas);
  DrawAxes(reduced, factor, labels, layout, &drawn.canvas);
  DrawBar(layout, scale, &drawn.canvas);
  return drawn;
}

}  // namespace internal

absl::StatusOr<std::string> HeatMapPng(const AttentionMap& map, const HeatMapLabels& labels) {
  if (map.rows < 1 || map.columns < 1)
    return absl::InvalidArgumentError("a picture of a matrix without entries");
  if (!std::all_of(map.values.begin(), map.values.end(), [](float v) { return std::isfinite(v); }))
    return absl::InvalidArgumentError("a picture of a matrix with numbers that are not finite");
  const internal::DrawnHeatMap drawn = internal::DrawHeatMap(map, labels);
  return EncodePng(drawn.canvas.rgb, drawn.canvas.width, drawn.canvas.height, 3);
}

}  // namespace lra
