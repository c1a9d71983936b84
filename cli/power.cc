#include <iostream>
#include <memory>
#include <optional>
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
  // Assumptions, which a record takes the place of.
  std::optional<double> seed_sd, disagreement;
  std::vector<std::string> rows;
  CompareRequest compare;
};

// What would change nothing.
absl::Status CheckRead(const PowerFlags& flags) {
  if (!flags.rows.empty() && (flags.seed_sd || flags.disagreement)) {
    return absl::InvalidArgumentError(
        "--seed-sd and --disagreement are assumptions, and the record of two rows says both: leave "
        "them or the rows out");
  }
  if (flags.rows.empty() && (!flags.compare.task.empty() || flags.compare.is_paired)) {
    return absl::InvalidArgumentError(
        "--task and --paired are about two rows on record: name them, as in lra power cosformer "
        "transformer");
  }
  return absl::OkStatus();
}

// Fills in what the comparison of two rows on record says about its parts.
absl::Status FillFromRecord(const PowerFlags& flags, PowerRequest* plan) {
  if (flags.rows.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("name two rows on record, or none; there are ", flags.rows.size()));
  }
  CompareRequest request = flags.compare;
  request.a = flags.rows[0];
  request.b = flags.rows[1];
  LRA_ASSIGN_OR_RETURN(const MethodComparison comparison, CompareMethods(request));
  LRA_ASSIGN_OR_RETURN(plan->like, OnlyDesign(comparison));
  plan->metric = comparison.tasks.front().metric;
  return absl::OkStatus();
}

absl::Status PrintPlan(const PowerFlags& flags, const CommandContext& context) {
  LRA_RETURN_IF_ERROR(CheckRead(flags));
  PowerRequest request = flags.request;
  if (flags.seed_sd) request.seed_sd_points = *flags.seed_sd;
  if (flags.disagreement) request.disagreement_percent = *flags.disagreement;
  if (!flags.rows.empty()) LRA_RETURN_IF_ERROR(FillFromRecord(flags, &request));
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
  AddOption(command, "--seeds", &request.seeds,
            "Seeds of each row; without it, how many --difference needs is said");
  AddOption(
      command, "--difference", &request.difference,
      "True difference to be seen, in points or the unit of the rows' metric; without it, the "
      "smallest that --seeds see is said");
  AddOption(command, "--seed-sd", &flags->seed_sd,
            absl::StrCat("Assumed without rows: standard deviation over seeds of the difference, "
                         "in points (default: ",
                         request.seed_sd_points, ")"));
  AddOption(command, "--disagreement", &flags->disagreement,
            absl::StrCat("Assumed without rows: examples on which two runs disagree, in percent "
                         "(default: ",
                         request.disagreement_percent, ")"));
  AddOption(command, "--power", &request.power_percent, "Probability of seeing it, in percent",
            {.shows_default = true});
  AddOption(command, "--confidence", &request.confidence, "Confidence of the comparison",
            {.shows_default = true});
  AddOption(command, "--tests", &request.tests,
            "Comparisons over which p will be corrected (Holm), this one among them",
            {.shows_default = true});
  AddRunsOfRows(command, &flags->compare.runs);
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
