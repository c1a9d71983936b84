// What a row's runs took: the column of costs, in every format.
#ifndef LRA_EVAL_TABLE_COST_H_
#define LRA_EVAL_TABLE_COST_H_

#include <cstddef>
#include <optional>
#include <string>

#include "eval/leaderboard.h"

namespace lra::internal {

// One seed of every task: the sum of the cells' means.
struct RowCost {
  double core_hours = 0;
  // Only where every task that says its hours says this, too.
  std::optional<double> joules;
  // Tasks whose runs say what they took, and tasks of the table.
  size_t known_tasks = 0, tasks = 0;
};
RowCost CostOf(const LeaderboardRow& row);

// "0.0123"; "-" where nothing is known.
std::string HoursText(const RowCost& cost);
// "1.23", in kilojoules; "-" where that is not known.
std::string KilojoulesText(const RowCost& cost);
// " (2 of 4 tasks)", or nothing where all are known, or none.
std::string PartText(const RowCost& cost);

// Whether some row says its energy: then there is a second column.
bool HasJoules(const LeaderboardTable& table);
// A sentence that says what the columns are.
std::string CostLegend(const LeaderboardTable& table);

}  // namespace lra::internal

#endif  // LRA_EVAL_TABLE_COST_H_
