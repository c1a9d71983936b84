// Measured cells as curves over the length or the width, and the tables of such curves.
#ifndef LRA_BENCH_EFFICIENCY_SERIES_H_
#define LRA_BENCH_EFFICIENCY_SERIES_H_

#include <string>
#include <vector>

#include "bench/bench.pb.h"
#include "bench/report.h"
#include "bench/spread.h"

namespace lra {

// What grows along a series: the length N, or the width D of a head where all cells have one N.
enum class Axis { kTokens, kHeadWidth };
const char* AxisName(Axis axis);  // "N", "D"

// One method under one setting: cells at increasing places on the axis. Of two at one place the
// later counts.
struct Series {
  std::string label;
  std::vector<BenchRecord> cells;
  Axis axis = Axis::kTokens;
};

// Series under one setting: what may stand in one table, and lie in one figure.
struct Panel {
  std::string title;
  std::vector<Series> series;
  Axis axis() const { return series.front().axis; }
};

// In order of first appearance.
std::vector<Series> GroupSeries(const std::vector<BenchRecord>& records);
std::vector<Panel> GroupPanels(const std::vector<BenchRecord>& records);

// The measured ones: seconds of a pass (STREAMING: of a token), and peak bytes (STREAMING: of the
// state), over the length or the width.
std::vector<LengthPoint> TimePoints(const Series& series);
std::vector<LengthPoint> MemoryPoints(const Series& series);

// A row a series, a column a length or width, and the exponent of growth over the last four.
TextTable TimeTable(const std::string& title, const std::vector<Series>& series);
TextTable MemoryTable(const std::string& title, const std::vector<Series>& series);
// Which method is faster than which from which length on, where curves cross.
TextTable CrossoverTable(const std::string& title, const std::vector<Series>& series);
// What each pass reached of the machine's measured peaks; no rows where no cost is known.
TextTable ReachedTable(const std::string& title, const std::vector<Series>& series);

}  // namespace lra

#endif  // LRA_BENCH_EFFICIENCY_SERIES_H_
