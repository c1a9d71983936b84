// What a row's runs took: the columns of costs, in every format.
#ifndef LRA_EVAL_TABLE_COST_H_
#define LRA_EVAL_TABLE_COST_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "eval/leaderboard.h"

namespace lra::internal {

// Hours of one seed of every task: the sum of what the cells' fastest runs took.
struct RowHours {
  double hours = 0;
  // Tasks whose runs say what they took, and tasks of the table.
  size_t known_tasks = 0, tasks = 0;
};

// What one run took: CPU time of all its training or, where the record has none, wall time times
// threads and processes; on a device, wall time times processes. In hours of cores, or of devices;
// 0 where the record does not say.
double HoursOfRun(const RunRecord& record);
bool WasOnDevice(const RunRecord& record);
// Whether some of HoursOfRun() is CPU time.
bool CountsCpuTime(const RunRecord& record);

struct RowCost {
  RowHours cores, devices;
  // Only where every task that says its hours says this, too.
  std::optional<double> joules;
};
RowCost CostOf(const LeaderboardRow& row);

// "0.0123"; "-" where nothing is known.
std::string NumberText(const RowHours& hours);
// The same with PartText() behind it.
std::string HoursText(const RowHours& hours);
// "1.23", in kilojoules; "-" where that is not known.
std::string KilojoulesText(const RowCost& cost);
// " (2 of 4 tasks)", or nothing where all are known, or none.
std::string PartText(const RowHours& hours);

struct CostColumn {
  std::string heading;
  std::string (*text)(const RowCost& cost);
  RowHours RowCost::*hours = nullptr;  // what a column of hours shows
};
// Core-hours, device-hours and energy, each where some row has it; core-hours also where no row has
// anything.
std::vector<CostColumn> CostColumns(const LeaderboardTable& table);
// What one axis of costs can show: device-hours where no row has core-hours, otherwise core-hours.
bool IsPricedInDevices(const LeaderboardTable& table);
// Sentences that say what the columns are.
std::string CostLegend(const LeaderboardTable& table);
// Names the cells in which the slowest run took so much longer than the fastest that the machine
// decided it, with how many times as long; empty where there are none.
std::string UnevenTimesText(const LeaderboardTable& table);

}  // namespace lra::internal

#endif  // LRA_EVAL_TABLE_COST_H_
