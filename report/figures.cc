#include "report/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/curve_figure.h"
#include "bench/gnuplot.h"
#include "eval/axis_title.h"
#include "eval/curve_values.h"
#include "eval/table_cost.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/text_columns.h"

namespace lra {
namespace {

// More curves than line types could not be told apart; the best are drawn.
constexpr size_t kMostCurves = 7;
constexpr size_t kMostLabelCharacters = 24;

// A row's name, cut to what a column has room for.
std::string ShortLabel(const LeaderboardRow& row) {
  const size_t end = EndOfCharacters(row.label, kMostLabelCharacters);
  return absl::StrCat(row.label.substr(0, end), end < row.label.size() ? "..." : "");
}

std::string Open(const std::string& stem, int height_points) {
  return absl::StrCat(ColumnTerminal(PictureFormat::kSvg, stem, height_points), kFigureLineTypes,
                      kColumnStyle);
}

// The same plot into the other formats.
std::string Close(const std::string& stem, int height_points) {
  return absl::StrCat(ColumnTerminal(PictureFormat::kPdf, stem, height_points), "replot\n",
                      ColumnTerminal(PictureFormat::kPng, stem, height_points),
                      "replot\nunset output\n");
}

std::string Name(const LeaderboardTable& table, size_t column) {
  return absl::StrCat(table.tasks[column], ", ", AxisTitle(table.metric_of(column)));
}

// A row that has a score in the column: one of whose runs trained.
struct Shown {
  const LeaderboardRow* row;
  const LeaderboardCell* cell;
};

std::vector<Shown> ShownRows(const LeaderboardTable& table, size_t column) {
  std::vector<Shown> shown;
  for (const LeaderboardRow& row : table.rows) {
    const auto& cell = row.cells[column];
    if (cell && cell->trained > 0 && std::isfinite(cell->value)) shown.push_back({&row, &*cell});
  }
  return shown;
}

// "0.35 0.33 0.37": score and the ends of its interval, which is the score where there is none.
std::string Score(const Metric& metric, const LeaderboardCell& cell) {
  const double scale = metric.traits().scale;
  const Interval interval = cell.interval.value_or(Interval{cell.value, cell.value});
  const bool is_known = std::isfinite(interval.low) && std::isfinite(interval.high);
  return absl::StrFormat("%.9g %.9g %.9g", scale * cell.value,
                         scale * (is_known ? interval.low : cell.value),
                         scale * (is_known ? interval.high : cell.value));
}

// --- Scores with their intervals, a line a row ---

std::string ScoresProgram(const LeaderboardTable& table, size_t column, const std::string& stem) {
  const std::vector<Shown> shown = ShownRows(table, column);
  if (shown.empty()) return "";
  std::string measured, others, tics;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (size_t i = 0; i < shown.size(); ++i) {
    const Interval ends =
        shown[i].cell->interval.value_or(Interval{shown[i].cell->value, shown[i].cell->value});
    low = std::fmin(low, table.metric->traits().scale * ends.low);
    high = std::fmax(high, table.metric->traits().scale * ends.high);
    std::string* const block = shown[i].row->kind == RunRecord::MEASURED ? &measured : &others;
    absl::StrAppend(block, Score(*table.metric, *shown[i].cell), " ", i, "\n");
    absl::StrAppend(&tics, i == 0 ? "" : ", ", PlainQuoted(ShortLabel(*shown[i].row)), " ", i);
  }
  const int height = 50 + 12 * static_cast<int>(shown.size());
  std::vector<std::string> plots;
  if (!measured.empty()) plots.push_back("$measured using 1:4:2:3 with xerrorbars lt 1 ps 0.5");
  if (!others.empty()) plots.push_back("$others using 1:4:2:3 with xerrorbars lt 7 dt 1 ps 0.5");
  return absl::StrCat(Open(stem, height), "$measured << END\n", measured, "END\n$others << END\n",
                      others, "END\nset ytics (", tics, ")\nset yrange [", shown.size() - 1,
                      ".5:-0.5]\nset key off\nset xtics ", TickDistance(low, high), "\nset xlabel ",
                      PlainQuoted(Name(table, column)), "\nplot ", absl::StrJoin(plots, ", "), "\n",
                      Close(stem, height));
}

// --- Validation scores by step ---

std::string CurvesProgram(const LeaderboardTable& table, size_t column,
                          const std::vector<LocatedRecord>& runs, const std::string& stem) {
  std::vector<FigureCurve> curves;
  for (const Shown& shown : ShownRows(table, column)) {
    std::vector<const Curve*> own;
    for (const LocatedRecord& run : runs) {
      const auto& directories = shown.cell->directories;
      if (std::find(directories.begin(), directories.end(), run.directory) != directories.end())
        own.push_back(&run.record.curve());
    }
    FigureCurve curve = ValidationCurve(ShortLabel(*shown.row), own, *table.metric);
    if (!curve.seeds.empty() && curves.size() < kMostCurves) curves.push_back(std::move(curve));
  }
  if (curves.empty()) return "";
  const CurvePlot plot = PlotOf(curves, "curve");
  const int height = 175 + 6 * static_cast<int>(curves.size());
  return absl::StrCat(Open(stem, height), plot.blocks,
                      "set key below left Left reverse samplen 2\nset xlabel 'step'\nset xtics ",
                      TickDistance(0, static_cast<double>(plot.last_step)), "\n", "set title ",
                      PlainQuoted(absl::StrCat("validation: ", Name(table, column))), "\n",
                      plot.command, Close(stem, height));
}

// --- Scores by cost ---

// Values with room for the usual interval: a wide one of few seeds runs out of the picture instead
// of pressing all others together.
std::string RangeAround(const std::vector<Shown>& shown, const Metric& metric) {
  std::vector<double> values, halves;
  for (const Shown& one : shown) {
    values.push_back(metric.traits().scale * one.cell->value);
    const Interval ends = one.cell->interval.value_or(Interval{0, 0});
    halves.push_back(metric.traits().scale * (ends.high - ends.low) / 2);
  }
  std::nth_element(halves.begin(), halves.begin() + halves.size() / 2, halves.end());
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double usual = halves[halves.size() / 2];
  const double room = std::max({std::isfinite(usual) ? 1.5 * usual : 0, 0.1 * (*most - *least),
                                0.01 * std::abs(*most), 1e-9});
  return absl::StrFormat("set yrange [%.6g:%.6g]\n", *least - room, *most + room);
}

// 1, 2, 3, 5 and 7 of each power of ten in the range, which may be less than one power wide; its
// ends are finite and above 0.
std::string LogTicks(double low, double high) {
  std::vector<std::string> ticks;
  const int last = static_cast<int>(std::floor(std::log10(high)));
  for (int exponent = static_cast<int>(std::floor(std::log10(low))); exponent <= last; ++exponent) {
    const double power = std::pow(10, exponent);
    for (const double multiple : {1, 2, 3, 5, 7}) {
      if (multiple * power >= low && multiple * power <= high)
        ticks.push_back(absl::StrFormat("%g", multiple * power));
    }
  }
  return absl::StrCat("set xtics (", absl::StrJoin(ticks, ", "), ")\n");
}

std::string CostProgram(const LeaderboardTable& table, size_t column, const std::string& stem) {
  const bool in_devices = internal::IsPricedInDevices(table);
  std::vector<Shown> shown;
  std::string blocks;
  std::vector<std::string> plots;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Shown& one : ShownRows(table, column)) {
    const std::optional<double>& hours = in_devices ? one.cell->device_hours : one.cell->core_hours;
    // The axis is logarithmic, and half as wide again as its points.
    if (!hours || *hours <= 0 || !std::isfinite(1.5 * *hours)) continue;
    shown.push_back(one);
    absl::StrAppendFormat(&blocks, "$row%d << END\n%.9g %s\nEND\n", shown.size(), *hours,
                          Score(*table.metric, *one.cell));
    plots.push_back(
        absl::StrFormat("$row%d using 1:2:3:4 with yerrorbars lt %d dt 1 ps 0.6 title %s",
                        shown.size(), shown.size(), PlainQuoted(ShortLabel(*one.row))));
    least = std::min(least, *hours);
    most = std::max(most, *hours);
  }
  if (shown.empty()) return "";
  const int height = 180 + 6 * static_cast<int>(shown.size());
  return absl::StrCat(Open(stem, height), blocks,
                      "set key below left Left reverse samplen 1\nset logscale x\n",
                      absl::StrFormat("set xrange [%.3g:%.3g]\n", least / 1.5, 1.5 * most),
                      LogTicks(least / 1.5, 1.5 * most), RangeAround(shown, *table.metric),
                      "set xlabel '", in_devices ? "device" : "core",
                      "-hours of the fastest run'\nset title ", PlainQuoted(Name(table, column)),
                      "\nplot ", absl::StrJoin(plots, ", "), "\n", Close(stem, height));
}

constexpr std::pair<FigureKind, const char*> kKinds[] = {
    {FigureKind::kScores, "scores"}, {FigureKind::kCurves, "curves"}, {FigureKind::kCost, "cost"}};

}  // namespace

std::string FigureProgram(FigureKind kind, const LeaderboardTable& table, size_t column,
                          const std::vector<LocatedRecord>& runs, const std::string& stem) {
  switch (kind) {
    case FigureKind::kScores:
      return ScoresProgram(table, column, stem);
    case FigureKind::kCurves:
      return CurvesProgram(table, column, runs, stem);
    case FigureKind::kCost:
      return CostProgram(table, column, stem);
  }
  return "";
}

absl::StatusOr<std::vector<std::string>> DrawReportFigures(const Leaderboard& board,
                                                           const std::vector<LocatedRecord>& runs,
                                                           const std::string& folder,
                                                           const std::string& gnuplot) {
  LRA_RETURN_IF_ERROR(MakeDirectories(folder));
  std::vector<std::string> stems;
  for (const auto& [kind, name] : kKinds) {
    std::vector<GnuplotPicture> pictures;
    for (const LeaderboardTable& table : board.tables) {
      for (size_t c = 0; c < table.tasks.size(); ++c) {
        if (FigureProgram(kind, table, c, runs, "").empty()) continue;
        pictures.push_back([&, c, kind = kind](const std::string& stem) {
          return FigureProgram(kind, table, c, runs, stem);
        });
      }
    }
    LRA_ASSIGN_OR_RETURN(const std::vector<std::string> drawn,
                         DrawPictures(pictures, JoinPath(folder, name), gnuplot));
    stems.insert(stems.end(), drawn.begin(), drawn.end());
  }
  return stems;
}

}  // namespace lra
