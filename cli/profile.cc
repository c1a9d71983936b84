#include "eval/profile.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "eval/data_identity.h"
#include "eval/run_record.h"
#include "inspect/open_checkpoint.h"
#include "inspect/perturbed.h"
#include "lra/status_macros.h"
#include "tasks/profile.h"

namespace lra {
namespace {

struct ProfileFlags {
  PerturbedRequest request;
  bool perturb = false;
};

// What the task knows of the examples that the run was scored on, seen as the run saw them.
absl::StatusOr<TaskProfile> TaskSide(const ProfileFlags& flags, const RunRecord& run,
                                     const CommandContext& context) {
  TaskProfileRequest request;
  request.task = run.data().task();
  // Stored predictions are about the run's own examples, whatever the model also runs on.
  const bool is_own = flags.request.data_dir.empty() || flags.request.allows_other_data;
  request.data_dir = is_own ? DataDirectoryOfRun(flags.request.checkpoint) : flags.request.data_dir;
  LRA_ASSIGN_OR_RETURN(request.exact_view, ViewOfRun(run, ""));
  request.check_data = [&run](const Manifest& manifest, const DataView& view) {
    return CheckDataOfRun(run, manifest, view);
  };
  request.split = flags.request.split;
  request.options = {.threads = flags.request.threads, .quiet = context.quiet};
  return ProfileTask(request);
}

absl::Status PrintProfile(const ProfileFlags& flags, const CommandContext& context) {
  if (flags.request.allows_other_data && !flags.perturb) {
    return absl::InvalidArgumentError(
        "--other-data: stored predictions are about the run's own examples; add --perturb to run "
        "the model on others");
  }
  LRA_ASSIGN_OR_RETURN(const RunRecord run, ReadRunRecord(flags.request.checkpoint));
  LRA_ASSIGN_OR_RETURN(const std::vector<float> logits,
                       StoredLogits(flags.request.checkpoint, run, flags.request.split));
  LRA_ASSIGN_OR_RETURN(const TaskProfile task, TaskSide(flags, run, context));
  ProfileInput input = {.record = &run,
                        .split = flags.request.split,
                        .logits = logits,
                        .labels = task.labels,
                        .strata = task.strata,
                        .ladder = {}};
  for (const BaselinePrediction& step : task.ladder)
    input.ladder.push_back({step.facts.bar, step.logits.front()});
  LRA_ASSIGN_OR_RETURN(Profile profile, MakeProfile(input));
  if (flags.perturb) {
    LRA_RETURN_IF_ERROR(StartComputing(flags.request.threads, context));
    PerturbedRequest request = flags.request;
    request.quiet = context.quiet;
    request.command_line = context.command_line;
    LRA_ASSIGN_OR_RETURN(profile.tables.emplace_back(), ProfilePerturbed(request));
  }
  std::cout << (context.json ? ProfileJson(profile) + "\n" : ProfileText(profile));
  return absl::OkStatus();
}

}  // namespace

void AddProfileCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<ProfileFlags>();
  CLI::App* command = AddCommand(app, "profile",
                                 "Say of which examples a run's score is made, from its stored "
                                 "predictions (ListOps: by depth of evaluation)");
  PerturbedRequest& request = flags->request;
  AddOption(command, "run", &request.checkpoint, "Run folder with a record and predictions",
            {.is_required = true});
  AddDataOfRun(command, &request.data_dir, &request.allows_other_data);
  AddOption(command, "--split", &request.split, "Split",
            {.shows_default = true, .value = kSplitValue});
  AddSwitch(
      command, "--perturb", &flags->perturb,
      "Also run the model on texts whose blocks or windows are shuffled, or on images whose "
      "patches are, and with --other-data on that data; a look at test is logged in the run's "
      "record");
  AddOption(command, "--examples", &request.examples,
            "How many examples are perturbed, the first of the split; 0 = all",
            {.shows_default = true, .allowed = FlagRules::kNonNegative, .needs = "--perturb"});
  AddThreads(command, &request.threads);
  AddDevice(command, &request.device, "--perturb");
  AddKernels(command, &context->kernels);
  SetBody(command, context,
          "  lra profile runs/listops-linear-small-s0\n"
          "  lra profile runs/text-linear-small-s0 --perturb --examples 2000 --json",
          [flags, context] { return PrintProfile(*flags, *context); });
}

}  // namespace lra
