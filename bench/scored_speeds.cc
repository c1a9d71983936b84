#include "bench/scored_speeds.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/column_figure.h"
#include "bench/gnuplot.h"
#include "eval/metric.h"

namespace lra {
namespace {

struct Score {
  double value = 0;
  std::optional<Interval> interval;
};

// A table of one task has no averages.
std::optional<Score> ScoreOf(const LeaderboardRow& row) {
  if (row.kind != RunRecord::MEASURED) return std::nullopt;
  if (row.cells.size() > 1) {
    if (!row.average) return std::nullopt;
    return Score{*row.average, row.average_interval};
  }
  if (row.cells.empty() || !row.cells[0] || row.cells[0]->is_unranked()) return std::nullopt;
  // Where runs failed, the interval is about the others alone.
  const LeaderboardCell& cell = *row.cells[0];
  return Score{cell.rank_value(), cell.all_runs ? std::nullopt : cell.interval};
}

std::optional<Interval> Scaled(const std::optional<Interval>& interval, double scale) {
  if (!interval) return std::nullopt;
  return Interval{scale * interval->low, scale * interval->high};
}

std::string ScoreText(const ScoredSpeed& one) {
  return one.interval ? absl::StrFormat("%.1f [%.1f, %.1f]", one.score, one.interval->low,
                                        one.interval->high)
                      : absl::StrFormat("%.1f", one.score);
}

// Both kinds of points at each length, by method.
using Points = std::map<int64_t, std::pair<double, double>>;

Points PointsOf(const Series& series) {
  std::map<int64_t, double> bytes;
  for (const LengthPoint& point : MemoryPoints(series)) bytes[std::llround(point.at)] = point.value;
  Points points;
  for (const LengthPoint& point : TimePoints(series)) {
    const int64_t tokens = std::llround(point.at);
    if (bytes.count(tokens) > 0) points[tokens] = {point.value, bytes[tokens]};
  }
  return points;
}

// The longest length that all have; 0 where there is none.
int64_t SharedTokens(const std::map<std::string, Points>& methods) {
  std::map<int64_t, size_t> counts;
  for (const auto& [name, points] : methods) {
    for (const auto& [tokens, values] : points) ++counts[tokens];
  }
  int64_t longest = 0;
  for (const auto& [tokens, count] : counts) {
    if (count == methods.size()) longest = tokens;
  }
  return longest;
}

std::string ScoreTitle(const LeaderboardTable& table) {
  return absl::StrCat(table.metric->name(), table.tasks.size() > 1 ? ", mean over " : " on ",
                      absl::StrJoin(table.tasks, ", "));
}

// The colours of kFigureLineTypes, three fifths transparent.
constexpr const char* kDiscs[] = {"#990072b2", "#99d55e00", "#99009e73", "#99cc79a7",
                                  "#9956b4e9", "#99e69f00", "#99000000"};

double MostMegabytes(const ScoredSpeeds& scored) {
  double most = 0;
  for (const ScoredSpeed& one : scored.methods) most = std::max(most, one.megabytes);
  return most;
}

// A disc's area is the memory; the largest is `widest` times a usual point wide.
std::string PlotOfDiscs(const ScoredSpeeds& scored, double widest) {
  const double most = MostMegabytes(scored);
  std::string discs;
  for (size_t i = 0; i < scored.methods.size(); ++i) {
    const double width = widest * std::sqrt(scored.methods[i].megabytes / most);
    absl::StrAppendFormat(&discs, "%s$method%d using 1:2 with points lc rgb '%s' pt 7 ps %.3g",
                          i == 0 ? "plot " : ", ", i + 1, kDiscs[i % std::size(kDiscs)],
                          std::max(0.6, width));
  }
  return discs;
}

// Names beside the points. Those of neighbours in the ranking stand above and below.
std::string NamesOfDiscs(const std::vector<ScoredSpeed>& methods) {
  std::string names;
  for (size_t i = 0; i < methods.size(); ++i) {
    absl::StrAppendFormat(&names,
                          ", $method%d using 1:2:3:4 with yerrorbars lc rgb '#000000' dt 1 pt 7 ps "
                          "0.3, $method%d using 1:2:(%s) with labels offset 0,%s",
                          i + 1, i + 1, PlainQuoted(methods[i].label), i % 2 == 0 ? "0.8" : "-0.8");
  }
  return names;
}

// What both layouts share.
std::string AxesOfSpeeds(const ScoredSpeeds& scored) {
  double slowest = std::numeric_limits<double>::infinity(), fastest = 0;
  for (const ScoredSpeed& one : scored.methods) {
    slowest = std::min(slowest, one.per_second);
    fastest = std::max(fastest, one.per_second);
  }
  return absl::StrFormat("set logscale x 2\nset xrange [%.3g:%.3g]\n", slowest / 1.5,
                         fastest * 1.5);
}

// A column has no room for names: points differ in colour and form instead.
ColumnFigure ScoredSpeedsColumn(const ScoredSpeeds& scored, const std::vector<std::string>& axis) {
  ColumnFigure figure = {scored.score_title, {}, {}};
  std::string points;
  for (const ScoredSpeed& one : scored.methods) {
    const size_t number = figure.legend.size() + 1;
    absl::StrAppendFormat(&points, ", $method%d using 1:2:3:4 with yerrorbars lt %d dt 1 ps 0.4",
                          number, number);
    figure.legend.push_back({one.label, absl::StrCat("points lt ", number, " ps 0.5")});
  }
  figure.plots.push_back({"",
                          absl::StrCat(AxesOfSpeeds(scored), ColumnAxisName(axis),
                                       "set offsets 0,0,graph 0.1,graph 0.1\n",
                                       PlotOfDiscs(scored, 3.6), points, "\n"),
                          150, kNamedAxisPoints + kColumnLinePoints});
  return figure;
}

}  // namespace

absl::StatusOr<ScoredSpeeds> ScoreSpeeds(const Panel& panel, const Leaderboard& board) {
  if (board.tables.empty()) return absl::NotFoundError("the records give no table");
  if (panel.axis() != Axis::kTokens)
    return absl::InvalidArgumentError("speeds are over the width of a head, not over the length");
  const LeaderboardTable& table = board.tables[0];
  if (table.tasks.size() > 1 && !table.has_average()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "scores on ", absl::StrJoin(table.tasks, ", "), " have no mean: their units differ (",
        UnlikeUnits(table.metrics), "); give runs of tasks of one unit"));
  }
  const double scale = table.metric->traits().scale;
  ScoredSpeeds scored{ScoreTitle(table), panel.title, 0, {}};
  std::map<std::string, Points> points;
  for (const LeaderboardRow& row : table.rows) {
    const std::optional<Score> score = ScoreOf(row);
    const auto series = std::find_if(panel.series.begin(), panel.series.end(),
                                     [&row](const Series& one) { return one.label == row.method; });
    if (!score || series == panel.series.end() || PointsOf(*series).empty()) continue;
    points[row.label] = PointsOf(*series);
    scored.methods.push_back({row.label, scale * score->value, Scaled(score->interval, scale)});
  }
  scored.tokens = SharedTokens(points);
  if (scored.tokens == 0) {
    return absl::NotFoundError(absl::StrCat(
        "no method has both a score and a speed at a length that all have: scores are of ",
        table.rows.size(), " rows, speeds of ", panel.series.size(), " methods"));
  }
  for (ScoredSpeed& method : scored.methods) {
    const auto [seconds, bytes] = points[method.label][scored.tokens];
    method.per_second = 1 / seconds;
    method.megabytes = bytes / 1e6;
  }
  std::stable_sort(scored.methods.begin(), scored.methods.end(),
                   [&table](const ScoredSpeed& a, const ScoredSpeed& b) {
                     return table.metric->Better(a.score, b.score);
                   });
  return scored;
}

TextTable ScoredSpeedsTable(const ScoredSpeeds& scored, const std::string& reference) {
  TextTable table = {absl::StrCat("Scores beside speed and memory. Speed: ", scored.speed_title,
                                  ", N = ", scored.tokens),
                     {"attention", scored.score_title, "passes a second",
                      absl::StrCat("over ", reference), "MB of tensors"},
                     {}};
  const auto base = std::find_if(scored.methods.begin(), scored.methods.end(),
                                 [&](const ScoredSpeed& one) { return one.label == reference; });
  for (const ScoredSpeed& one : scored.methods) {
    table.rows.push_back({one.label, ScoreText(one), absl::StrFormat("%.2f", one.per_second),
                          base == scored.methods.end()
                              ? "–"
                              : absl::StrFormat("%.2f", one.per_second / base->per_second),
                          absl::StrFormat("%.0f", one.megabytes)});
  }
  return table;
}

std::string ScoredSpeedsProgram(const ScoredSpeeds& scored, const std::string& stem) {
  std::string blocks;
  for (size_t i = 0; i < scored.methods.size(); ++i) {
    const ScoredSpeed& one = scored.methods[i];
    const Interval ends = one.interval.value_or(Interval{one.score, one.score});
    absl::StrAppendFormat(&blocks, "$method%d << END\n%.9g %.9g %.9g %.9g\nEND\n", i + 1,
                          one.per_second, one.score, ends.low, ends.high);
  }
  const std::string speed = absl::StrFormat("passes a second at N = %d", scored.tokens);
  const std::string memory =
      absl::StrFormat("discs: memory, the largest %.0f MB", MostMegabytes(scored));
  return absl::StrCat(blocks, ScreenTerminal(stem, 800, 600, "noenhanced background 'white'"),
                      "set grid\nunset key\n", AxesOfSpeeds(scored), "set xlabel ",
                      PlainQuoted(absl::StrCat(speed, "; ", memory)), "\nset ylabel ",
                      PlainQuoted(scored.score_title), "\n", PlotOfDiscs(scored, 9),
                      NamesOfDiscs(scored.methods), "\n", kFigureLineTypes,
                      ColumnProgram(ScoredSpeedsColumn(scored, {speed, memory}), stem));
}

}  // namespace lra
