#include "bench/profile_figure.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/column_figure.h"
#include "bench/gnuplot.h"
#include "eval/axis_title.h"
#include "lra/check.h"
#include "lra/text_columns.h"

namespace lra {
namespace {

// Each kind of line in each grey. A legend's short sample must show every kind whole: gnuplot's own
// dashes are longer than that.
constexpr const char* kGreys[] = {"#999999", "#555555", "#cccccc"};
constexpr const char* kDashes[] = {"1", "(12,8)", "(3,6)", "(14,6,3,6)", "(12,5,3,5,3,5)"};

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

// A row with its place among the data; measured rows have a line type, and lines between points
// where strata have an order.
struct ProfileCurve {
  std::string title;
  size_t place = 0;
  int type = 0;  // 0 = a baseline
  bool has_line = false;
};

std::string GreyOf(const ProfileCurve& curve) {
  constexpr size_t kKinds = std::size(kDashes);
  return absl::StrCat("lines lc rgb \"", kGreys[curve.place / kKinds % std::size(kGreys)],
                      "\" lw 1 dt ", kDashes[curve.place % kKinds]);
}

// What draws a row, points as large as `size` says.
std::string ProfilePlot(const ProfileCurve& curve, const char* size) {
  const std::string title = absl::StrCat(" title ", GnuplotText(curve.title));
  if (curve.type == 0)
    return absl::StrCat("$row", curve.place, " using 1:2 with ", GreyOf(curve), title);
  const std::string line =
      curve.has_line
          ? absl::StrCat("$row", curve.place, " using 1:2 with lines lt ", curve.type, " notitle, ")
          : "";
  return absl::StrCat(line, "$row", curve.place, " using 1:2:3:4 with yerrorbars lt ", curve.type,
                      " dt 1 lw 1 ps ", size, title);
}

std::string ProfilePlots(const std::vector<ProfileCurve>& curves, const char* size) {
  return absl::StrCat("plot ",
                      absl::StrJoin(curves, ", ",
                                    [size](std::string* out, const ProfileCurve& curve) {
                                      absl::StrAppend(out, ProfilePlot(curve, size));
                                    }),
                      "\n");
}

// A picture's words, and its rows.
struct ProfilePicture {
  std::string title, metric, heading;
  std::vector<std::string> strata;
  std::vector<ProfileCurve> curves;
  // Names of more than a few letters would run into each other.
  bool has_long_names() const { return CountCharacters(strata.back()) > 5; }
  std::string range() const {
    return absl::StrFormat("set xrange [-0.3:%d.3]\n", static_cast<int>(strata.size()) - 1);
  }
};

using Quoted = std::string (*)(const std::string&);

std::string StratumTicks(const ProfilePicture& picture, const char* rotation, Quoted quoted) {
  std::vector<std::string> ticks;
  for (const std::string& stratum : picture.strata)
    ticks.push_back(absl::StrCat(quoted(stratum), " ", ticks.size()));
  return absl::StrCat("set xtics ", picture.has_long_names() ? rotation : "", "(",
                      absl::StrJoin(ticks, ", "), ")\n");
}

std::string ProfileOnScreen(const ProfilePicture& picture, const std::string& stem) {
  return absl::StrCat(
      ScreenTerminal(stem, 760, 420, ""), "set title ", GnuplotText(picture.title), "\nset xlabel ",
      GnuplotText(picture.heading), "\nset ylabel ", GnuplotText(picture.metric), "\n",
      picture.range(), StratumTicks(picture, "rotate by -25 ", GnuplotText),
      "set grid y\nset key outside right Left reverse\n", ProfilePlots(picture.curves, "0.8"));
}

ColumnFigure ProfileColumn(const ProfilePicture& picture) {
  ColumnFigure figure;
  for (const ProfileCurve& curve : picture.curves) {
    const char* const form = curve.has_line ? "linespoints" : "points";
    figure.legend.push_back({curve.title, curve.type == 0
                                              ? GreyOf(curve)
                                              : absl::StrCat(form, " lt ", curve.type, " ps 0.5")});
  }
  double below = kNamedAxisPoints;
  if (picture.has_long_names()) {
    size_t longest = 0;
    for (const std::string& stratum : picture.strata)
      longest = std::max(longest, CountCharacters(stratum));
    below += 3.3 * longest;  // letters 4.7 points wide that rise by 45 degrees
  }
  figure.plots.push_back(
      {absl::StrCat(picture.title, ": ", picture.metric),
       absl::StrCat(ColumnAxisName({picture.heading}), picture.range(),
                    StratumTicks(picture, "rotate by 45 right ", PlainQuoted),
                    "set grid noxtics ytics\n", ProfilePlots(picture.curves, "0.5")),
       120, below});
  return figure;
}

}  // namespace

std::string ProfileProgram(const ProfileBoard& board, size_t heading, const std::string& stem) {
  const ProfileHeading& of = board.headings[heading];
  const Metric& metric = *board.group->metric;
  const std::vector<size_t> strata = ShownStrata(of);
  LRA_CHECK(!strata.empty()) << of.name;
  ProfilePicture picture = {absl::StrCat(board.group->task, ", ", board.group->split, " split"),
                            AxisTitle(metric),
                            of.name,
                            {},
                            {}};
  for (const size_t stratum : strata) picture.strata.push_back(of.names[stratum]);
  std::string text = kFigureLineTypes;
  int type = 0;
  for (const FigureRow& row : RowsOf(board, heading)) {
    const size_t place = picture.curves.size();
    absl::StrAppend(&text, Block(metric, row.row->cells[heading], strata, place));
    const bool is_measured = row.row->row->kind != RunRecord::BASELINE;
    if (is_measured) ++type;
    picture.curves.push_back(
        {row.title, place, is_measured ? type : 0, is_measured && of.is_ordered});
  }
  return absl::StrCat(text, ProfileOnScreen(picture, stem),
                      ColumnProgram(ProfileColumn(picture), stem));
}

absl::StatusOr<std::vector<std::string>> DrawProfiles(const std::vector<ProfileBoard>& boards,
                                                      const std::string& prefix,
                                                      const std::string& gnuplot) {
  std::vector<GnuplotPicture> pictures;
  for (const ProfileBoard& board : boards) {
    for (size_t h = 0; h < board.headings.size(); ++h) {
      if (ShownStrata(board.headings[h]).size() < 2) continue;
      pictures.push_back(
          [&board, h](const std::string& stem) { return ProfileProgram(board, h, stem); });
    }
  }
  return DrawPictures(pictures, prefix, gnuplot);
}

}  // namespace lra
