#include "bench/profile_figure.h"

#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/curve_figure.h"
#include "bench/gnuplot.h"
#include "lra/check.h"

namespace lra {
namespace {

// Five kinds of line in each.
constexpr const char* kGreys[] = {"#999999", "#555555", "#cccccc"};

struct FigureRow {
  const ProfileBoardRow* row = nullptr;
  std::string title;
};

// Rows of which something is known under this heading, the baselines first. A label that several
// settings have gets the setting behind it.
std::vector<FigureRow> RowsOf(const ProfileBoard& board, size_t heading) {
  std::map<std::string, int> uses;
  for (const ProfiledSetting& setting : board.group->settings) {
    for (const ProfiledRow& row : setting.rows) ++uses[row.label];
  }
  std::vector<FigureRow> rows;
  for (size_t s = 0; s < board.rows.size(); ++s) {
    for (const ProfileBoardRow& row : board.rows[s]) {
      if (row.cells[heading].empty()) continue;
      const bool is_known = uses[row.row->label] == 1;
      rows.push_back({&row, is_known ? row.row->label
                                     : absl::StrCat(row.row->label, ", ", SettingName(board, s))});
    }
  }
  return rows;
}

// Place of the stratum, value, ends of the interval.
std::string Block(const Metric& metric, const std::vector<ProfileCell>& cells,
                  const std::vector<size_t>& strata, size_t name) {
  const double scale = metric.traits().scale;
  std::string text = absl::StrCat("$row", name, " << END\n");
  for (size_t s = 0; s < strata.size(); ++s) {
    const ProfileCell& cell = cells[strata[s]];
    if (!cell.value) continue;
    const Interval interval = cell.interval.value_or(Interval{*cell.value, *cell.value});
    absl::StrAppendFormat(&text, "%d %.9g %.9g %.9g\n", s, scale * *cell.value,
                          scale * interval.low, scale * interval.high);
  }
  return text + "END\n";
}

// What draws row `place` of the picture; measured rows have the line type `type`. Lines between
// points are drawn where strata have an order.
std::string PlotOf(const FigureRow& row, size_t place, int type, bool is_ordered) {
  const std::string title = absl::StrCat(" title ", GnuplotText(row.title));
  if (row.row->row->kind == RunRecord::BASELINE) {
    return absl::StrCat("$row", place, " using 1:2 with lines lc rgb \"",
                        kGreys[place / 5 % std::size(kGreys)], "\" lw 1 dt ", 1 + place % 5, title);
  }
  const std::string line =
      is_ordered ? absl::StrCat("$row", place, " using 1:2 with lines lt ", type, " notitle, ")
                 : "";
  return absl::StrCat(line, "$row", place, " using 1:2:3:4 with yerrorbars lt ", type,
                      " dt 1 lw 1 ps 0.8", title);
}

}  // namespace

std::string ProfileProgram(const ProfileBoard& board, size_t heading, const std::string& svg) {
  const ProfileHeading& of = board.headings[heading];
  const Metric& metric = *board.group->metric;
  const std::vector<size_t> strata = ShownStrata(of);
  LRA_CHECK(!strata.empty()) << of.name;
  std::string text = absl::StrFormat(
      "set terminal svg size 760,420 dynamic\nset output \"%s\"\nset title %s\n", svg,
      GnuplotText(absl::StrCat(board.group->task, ", ", board.group->split, " split")));
  absl::StrAppend(&text, kFigureLineTypes);
  std::vector<std::string> plots, tics;
  int type = 0;
  const std::vector<FigureRow> rows = RowsOf(board, heading);
  for (size_t r = 0; r < rows.size(); ++r) {
    absl::StrAppend(&text, Block(metric, rows[r].row->cells[heading], strata, r));
    if (rows[r].row->row->kind != RunRecord::BASELINE) ++type;
    plots.push_back(PlotOf(rows[r], r, type, of.is_ordered));
  }
  for (size_t s = 0; s < strata.size(); ++s)
    tics.push_back(absl::StrCat(GnuplotText(of.names[strata[s]]), " ", s));
  absl::StrAppendFormat(&text, "set xlabel %s\nset ylabel %s\nset xrange [-0.3:%d.3]\n",
                        GnuplotText(of.name),
                        GnuplotText(absl::StrCat(metric.name(), ", ", metric.traits().unit)),
                        static_cast<int>(strata.size()) - 1);
  // Names of more than a few letters would run into each other.
  const bool is_long = of.names[strata.back()].size() > 5;
  absl::StrAppend(&text, "set xtics ", is_long ? "rotate by -25 " : "", "(",
                  absl::StrJoin(tics, ", "), ")\nset grid y\nset key outside right Left reverse\n");
  return absl::StrCat(text, "plot ", absl::StrJoin(plots, ", "), "\n");
}

absl::StatusOr<std::vector<std::string>> DrawProfiles(const std::vector<ProfileBoard>& boards,
                                                      const std::string& prefix,
                                                      const std::string& gnuplot) {
  std::vector<GnuplotPicture> pictures;
  for (const ProfileBoard& board : boards) {
    for (size_t h = 0; h < board.headings.size(); ++h) {
      if (ShownStrata(board.headings[h]).size() < 2) continue;
      pictures.push_back(
          [&board, h](const std::string& svg) { return ProfileProgram(board, h, svg); });
    }
  }
  return DrawPictures(pictures, prefix, gnuplot);
}

}  // namespace lra
