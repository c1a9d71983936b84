// lra status
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/suite_command.h"
#include "cli/terminal.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "suite/executor.h"
#include "suite/plan.h"
#include "suite/state.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

struct StatusFlags {
  std::string suite;
  bool watch = false;
  FollowFlags follow;
};

// Workers of the measurements, which are those of the last `lra run`; 1 where nothing was measured.
int WorkersOf(const EstimateOfCell& estimates) {
  int64_t newest = -1;
  int workers = 1;
  for (const auto& [cell, estimate] : estimates) {
    if (estimate.unix_seconds() <= newest) continue;
    newest = estimate.unix_seconds();
    workers = estimate.workers();
  }
  return workers;
}

// What Slurm said last. Its controller serves all of a cluster and is not asked at each drawing.
class SeenQueue {
 public:
  // The errors of AddSlurmStates.
  absl::Status AddTo(const std::string& folder, const std::vector<SuiteCell>& cells,
                     std::vector<CellStatus>* statuses) {
    if (absl::Now() - asked_ >= kBetween) {
      answer_ = AddSlurmStates(folder, cells, statuses);
      asked_ = absl::Now();
      seen_.clear();
      for (const CellStatus& status : *statuses) seen_.push_back(status.slurm);
    }
    for (size_t i = 0; i < seen_.size(); ++i) (*statuses)[i].slurm = seen_[i];
    return answer_;
  }

 private:
  static constexpr absl::Duration kBetween = absl::Seconds(30);
  absl::Time asked_ = absl::InfinitePast();
  absl::Status answer_;
  std::vector<std::optional<ItemState>> seen_;  // by cell
};

absl::Status PrintOnce(const std::string& folder, const std::vector<SuiteCell>& cells,
                       SeenQueue* queue, bool* goes_on, const CommandContext& context) {
  std::vector<CellStatus> statuses = ReadStatuses(folder, cells);
  const absl::Status asked = queue->AddTo(folder, cells, &statuses);
  // A machine without Slurm reads the same folder.
  if (!asked.ok() && !absl::IsNotFound(asked)) std::cerr << "note: " << asked.message() << "\n";
  const EstimateOfCell estimates = ReadEstimates(folder, cells);
  const SuitePlan plan =
      MakePlan(folder, cells, statuses, estimates, {.workers = WorkersOf(estimates)});
  *goes_on = plan.left > 0;
  if (context.json) {
    nlohmann::ordered_json json = StatusJson(cells, statuses);
    json.update(TotalJson(cells, plan));
    PrintJson(json);
    return absl::OkStatus();
  }
  std::cout << StatusText(cells, statuses) << SummaryText(statuses) << "\n";
  if (plan.left > plan.unknown) std::cout << TotalText(plan) << "\n";
  std::cout << QueueText(statuses);
  const std::string error = PredictionErrorText(folder, cells, statuses, estimates);
  if (!error.empty()) std::cout << error << "\n";
  return absl::OkStatus();
}

absl::Status PrintStatus(const StatusFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const std::string folder, SuiteFolder(flags.suite));
  LRA_ASSIGN_OR_RETURN(const SuiteFile suite, SuiteOfFolder(folder));
  LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(suite));
  bool goes_on = false;
  SeenQueue queue;
  if (context.json) return PrintOnce(folder, cells, &queue, &goes_on, context);
  FollowFlags follow = flags.follow;
  follow.once = !flags.watch;
  return Follow(follow, [&]() -> absl::StatusOr<bool> {
    LRA_RETURN_IF_ERROR(PrintOnce(folder, cells, &queue, &goes_on, context));
    return goes_on;
  });
}

}  // namespace

void AddStatusCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<StatusFlags>();
  CLI::App* command = AddCommand(app, "status", "How far the runs of a suite are");
  AddOption(command, "suite", &flags->suite,
            "A suite whose runs are in runs/SUITE, or the folder that `lra run` wrote",
            {.is_required = true});
  AddSwitch(command, "--watch", &flags->watch,
            "Print it again and again until no run is left (on a terminal)");
  AddEvery(command, &flags->follow);
  SetBody(command, context,
          "  lra status listops_smoke\n"
          "  lra status runs/listops_smoke --watch",
          [flags, context] { return PrintStatus(*flags, *context); });
}

}  // namespace lra
