#include "cli/suite_output.h"

#include <iostream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "suite/plan.h"

namespace lra {
namespace {

// The cells that could not be measured, by the reason: one, such as missing data, for many.
std::map<std::string, std::vector<std::string>> CellsByFailure(const PlannedSuite& planned) {
  std::map<std::string, std::vector<std::string>> cells;
  for (const auto& [cell, why] : planned.failures) cells[why].push_back(cell);
  return cells;
}

}  // namespace

absl::Status PrintSuitePlan(const PlannedSuite& planned, int reused, Executor* executor,
                            const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const std::string preview, executor->Preview(planned, context.json));
  if (context.json) {
    nlohmann::ordered_json plan = PlanJson(planned.cells, planned.plan);
    if (reused > 0) plan["reused_runs"] = reused;
    if (!preview.empty()) plan["arrays"] = nlohmann::ordered_json::parse(preview);
    for (const auto& [why, cells] : CellsByFailure(planned))
      plan["not_measured"].push_back({{"why", why}, {"cells", cells}});
    PrintJson(plan);
    return absl::OkStatus();
  }
  std::cout << PlanText(planned.cells, planned.plan);
  for (const auto& [why, cells] : CellsByFailure(planned))
    std::cout << absl::StrJoin(cells, ", ") << " could not be measured: " << why << "\n";
  std::cout << preview << std::flush;
  return absl::OkStatus();
}

absl::Status JudgePlan(const PlannedSuite& planned, const SuiteRunOptions& options) {
  std::set<std::string> failed;
  for (const SuiteCell& cell : planned.cells) {
    if (planned.failures.count(CellName(cell)) > 0 &&
        options.not_measured.count(cell.config.task()) == 0)
      failed.insert(CellName(cell));
  }
  if (failed.empty()) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(failed.size(), failed.size() == 1 ? " cell" : " cells",
                                         " could not be measured, for the reasons above; as they "
                                         "are trained they would most likely fail, too"));
}

void PrintSuiteStatuses(const std::vector<SuiteCell>& cells,
                        const std::vector<CellStatus>& statuses, const CommandContext& context) {
  if (context.json) {
    PrintJson(StatusJson(cells, statuses));
  } else {
    std::cout << StatusText(cells, statuses) << SummaryText(statuses) << "\n"
              << QueueText(statuses) << std::flush;
  }
}

absl::Status JudgeSuite(const std::string& out, const std::vector<CellStatus>& statuses) {
  bool is_left = false, has_failed = false, needs_mending = false, has_diverged = false;
  for (const CellStatus& status : statuses) {
    if (status.is_queued()) return absl::OkStatus();
    is_left |= IsLeft(status, false) || status.state == CellState::kRunning;
    needs_mending |= status.needs_mending;
    has_failed |= status.state == CellState::kFailed && !status.needs_mending;
    has_diverged |= status.state == CellState::kDiverged;
  }
  if (is_left) return absl::AbortedError("runs are left: the same command goes on with them");
  const std::string retry =
      absl::StrCat("what they wrote is in ", JoinPath(out, "logs"), "; --retry-failed tries again");
  if (needs_mending) {
    return absl::AbortedError(
        absl::StrCat("runs failed: mend or move away what the lines above name, then the same "
                     "command goes on",
                     has_failed ? absl::StrCat("; of the others, ", retry) : ""));
  }
  if (has_failed) return absl::AbortedError(absl::StrCat("runs failed: ", retry));
  if (has_diverged)
    return absl::AbortedError("runs diverged: they have records of it, which tables count");
  return absl::OkStatus();
}

}  // namespace lra
