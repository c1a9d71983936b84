#include "eval/table_cost.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace lra::internal {
namespace {

// Runs of one cell whose times are further apart than by this factor are told.
constexpr double kUnevenTimes = 1.25;

void Add(const std::optional<double>& hours, RowHours* sum) {
  if (!hours) return;
  sum->hours += *hours;
  ++sum->known_tasks;
}

template <typename Predicate>
bool AnyRow(const LeaderboardTable& table, Predicate&& has) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const LeaderboardRow& row) { return has(CostOf(row)); });
}

bool HasCoreHours(const LeaderboardTable& table) {
  return AnyRow(table, [](const RowCost& cost) { return cost.cores.known_tasks > 0; });
}

bool HasDeviceHours(const LeaderboardTable& table) {
  return AnyRow(table, [](const RowCost& cost) { return cost.devices.known_tasks > 0; });
}

bool HasJoules(const LeaderboardTable& table) {
  return AnyRow(table, [](const RowCost& cost) { return cost.joules.has_value(); });
}

bool HasCpuTime(const LeaderboardTable& table) {
  for (const LeaderboardRow& row : table.rows) {
    for (const auto& cell : row.cells)
      if (cell && cell->has_cpu_time) return true;
  }
  return false;
}

// What training used of cores: as it was counted, else as if all threads had worked all the time.
double CoreSeconds(const RunRecord& record) {
  const Efficiency& efficiency = record.efficiency();
  const PretrainResult& pretrain = record.pretrain();
  const double threads =
      double{1} * std::max(1, efficiency.threads()) * std::max(1, efficiency.processes());
  const double with_labels =
      efficiency.has_cpu_seconds() ? efficiency.cpu_seconds() : efficiency.wall_seconds() * threads;
  const double without =
      pretrain.has_cpu_seconds() ? pretrain.cpu_seconds() : pretrain.seconds() * threads;
  return with_labels + without;
}

}  // namespace

double HoursOfRun(const RunRecord& record) {
  if (!WasOnDevice(record)) return CoreSeconds(record) / 3600;
  const Efficiency& efficiency = record.efficiency();
  const double seconds = efficiency.wall_seconds() + record.pretrain().seconds();
  return seconds * std::max(1, efficiency.processes()) / 3600;
}

bool WasOnDevice(const RunRecord& record) { return !record.machine().device().empty(); }

bool CountsCpuTime(const RunRecord& record) {
  return !WasOnDevice(record) &&
         (record.efficiency().has_cpu_seconds() || record.pretrain().has_cpu_seconds());
}

RowCost CostOf(const LeaderboardRow& row) {
  RowCost cost{.joules = 0};
  cost.cores.tasks = cost.devices.tasks = row.cells.size();
  for (const auto& cell : row.cells) {
    if (!cell || (!cell->core_hours && !cell->device_hours)) continue;
    Add(cell->core_hours, &cost.cores);
    Add(cell->device_hours, &cost.devices);
    if (cost.joules && cell->joules)
      *cost.joules += *cell->joules;
    else
      cost.joules.reset();
  }
  if (cost.cores.known_tasks + cost.devices.known_tasks == 0) cost.joules.reset();
  return cost;
}

std::string NumberText(const RowHours& hours) {
  return hours.known_tasks == 0 ? "-" : absl::StrFormat("%#.3g", hours.hours);
}

std::string HoursText(const RowHours& hours) {
  return absl::StrCat(NumberText(hours), PartText(hours));
}

std::string KilojoulesText(const RowCost& cost) {
  return cost.joules ? absl::StrFormat("%#.3g", *cost.joules / 1000) : "-";
}

std::string PartText(const RowHours& hours) {
  if (hours.known_tasks == 0 || hours.known_tasks == hours.tasks) return "";
  return absl::StrCat(" (", hours.known_tasks, " of ", hours.tasks, " tasks)");
}

std::vector<CostColumn> CostColumns(const LeaderboardTable& table) {
  std::vector<CostColumn> columns;
  const bool has_devices = HasDeviceHours(table);
  if (!has_devices || HasCoreHours(table))
    columns.push_back(
        {"core-hours", [](const RowCost& cost) { return HoursText(cost.cores); }, &RowCost::cores});
  if (has_devices)
    columns.push_back({"device-hours", [](const RowCost& cost) { return HoursText(cost.devices); },
                       &RowCost::devices});
  if (HasJoules(table)) columns.push_back({"kJ", KilojoulesText});
  return columns;
}

bool IsPricedInDevices(const LeaderboardTable& table) {
  return HasDeviceHours(table) && !HasCoreHours(table);
}

std::string CostLegend(const LeaderboardTable& table) {
  const bool has_devices = HasDeviceHours(table);
  const char* const cores =
      HasCpuTime(table) ? "Core-hours: CPU time of training or, where a record has none, wall time "
                          "times threads, "
                        : "Core-hours: wall time of training times threads, ";
  return absl::StrCat(
      !has_devices || HasCoreHours(table) ? cores : "",
      has_devices ? "Device-hours: wall time of training times devices, " : "",
      "of one seed of every task, the fastest run of each cell among those that made the most "
      "steps. Machines may have done other work meanwhile: wall times are no measure of a method. "
      "Trials of a search are not counted.",
      HasJoules(table) ? " kJ: energy of the machine's processors meanwhile, whatever else ran on "
                         "them."
                       : "");
}

std::string UnevenTimesText(const LeaderboardTable& table) {
  std::vector<std::string> tasks;
  for (size_t c = 0; c < table.tasks.size(); ++c) {
    std::vector<std::string> rows;
    for (const LeaderboardRow& row : table.rows) {
      const double ratio = row.cells[c] ? row.cells[c]->slowest_over_fastest.value_or(1) : 1;
      if (ratio > kUnevenTimes)
        rows.push_back(absl::StrFormat("%s %.*f", row.label, ratio < 10 ? 1 : 0, ratio));
    }
    if (rows.empty()) continue;
    tasks.push_back(absl::StrCat(table.tasks[c], ": ", absl::StrJoin(rows, ", ")));
  }
  if (tasks.empty()) return "";
  return absl::StrFormat(
      "How many times as much as its fastest run a cell's slowest used, where more than %g: %s.",
      kUnevenTimes, absl::StrJoin(tasks, "; "));
}

}  // namespace lra::internal
