#include "eval/table_cost.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lra::internal {

RowCost CostOf(const LeaderboardRow& row) {
  RowCost cost{.joules = 0, .tasks = row.cells.size()};
  for (const auto& cell : row.cells) {
    if (!cell || !cell->core_hours) continue;
    cost.core_hours += *cell->core_hours;
    ++cost.known_tasks;
    if (cost.joules && cell->joules)
      *cost.joules += *cell->joules;
    else
      cost.joules.reset();
  }
  if (cost.known_tasks == 0) cost.joules.reset();
  return cost;
}

std::string HoursText(const RowCost& cost) {
  return cost.known_tasks == 0 ? "-" : absl::StrFormat("%#.3g", cost.core_hours);
}

std::string KilojoulesText(const RowCost& cost) {
  return cost.joules ? absl::StrFormat("%#.3g", *cost.joules / 1000) : "-";
}

std::string PartText(const RowCost& cost) {
  if (cost.known_tasks == 0 || cost.known_tasks == cost.tasks) return "";
  return absl::StrCat(" (", cost.known_tasks, " of ", cost.tasks, " tasks)");
}

bool HasJoules(const LeaderboardTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [](const LeaderboardRow& row) { return CostOf(row).joules.has_value(); });
}

std::string CostLegend(const LeaderboardTable& table) {
  return absl::StrCat(
      "Core-hours: time of training times threads, of one seed of every task, the mean over runs; "
      "trials of a search are not counted.",
      HasJoules(table) ? " kJ: energy of the machine's processors meanwhile, whatever else ran on "
                         "them."
                       : "");
}

}  // namespace lra::internal
