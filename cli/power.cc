#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "eval/compare_methods.h"
#include "eval/power_plan.h"
#include "lra/status_macros.h"
#include "run_folder/stopped_runs.h"

namespace lra {
namespace {

struct PowerFlags {
  PowerRequest request;
  std::vector<std::string> rows;
  CompareRequest compare;
};

// What the comparison of two rows on record says about its parts.
absl::StatusOr<Design> DesignOnRecord(const PowerFlags& flags) {
  if (flags.rows.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("name two rows on record, or none; there are ", flags.rows.size()));
  }
  CompareRequest request = flags.compare;
  request.a = flags.rows[0];
  request.b = flags.rows[1];
  LRA_ASSIGN_OR_RETURN(const MethodComparison comparison, CompareMethods(request));
  return OnlyDesign(comparison);
}

absl::Status PrintPlan(const PowerFlags& flags, const CommandContext& context) {
  PowerRequest request = flags.request;
  if (!flags.rows.empty()) {
    LRA_ASSIGN_OR_RETURN(request.like, DesignOnRecord(flags));
  }
  LRA_ASSIGN_OR_RETURN(const PowerPlan plan, PlanPower(request));
  std::cout << (context.json ? WritePowerPlanJson(plan) : WritePowerPlan(plan));
  return absl::OkStatus();
}

}  // namespace

void AddPowerCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<PowerFlags>();
  flags->compare.add_stopped = AddStoppedRuns;
  PowerRequest& request = flags->request;
  CLI::App* command = AddCommand(
      app, "power", "How many seeds a comparison needs, and which difference it would see");
  AddOption(command, "rows", &flags->rows,
            "Two rows on record, as in `lra compare`, whose scatter is taken (default: assumed)");
  AddOption(command, "--examples", &request.examples,
            "Examples of the split (default: those of the rows)");
  AddOption(command, "--seeds", &request.seeds, "Seeds of each row");
  AddOption(command, "--difference", &request.difference_points,
            "True difference to be seen, in points");
  AddOption(command, "--seed-sd", &request.seed_sd_points,
            "Assumed: standard deviation over seeds of the difference, in points",
            {.shows_default = true});
  AddOption(command, "--disagreement", &request.disagreement_percent,
            "Assumed: examples on which two runs disagree, in percent", {.shows_default = true});
  AddOption(command, "--power", &request.power_percent, "Probability of seeing it, in percent",
            {.shows_default = true});
  AddOption(command, "--confidence", &request.confidence, "Of the comparison",
            {.shows_default = true});
  AddOption(command, "--runs", &flags->compare.runs, "Folders that hold the rows' runs",
            {.shows_default = true});
  AddOption(command, "--task", &flags->compare.task, "The rows' task, where they have several",
            {.value = kTaskValue});
  AddSwitch(command, "--paired", &flags->compare.is_paired,
            "The rows' runs of one seed form pairs");
  SetBody(command, context,
          "  lra power --examples 2000 --seeds 5 --difference 2\n"
          "  lra power cosformer transformer --task listops --difference 1",
          [flags, context] { return PrintPlan(*flags, *context); });
}

}  // namespace lra
