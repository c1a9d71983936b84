#include "eval/profile.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/flags.h"
#include "eval/data_identity.h"
#include "eval/run_record.h"
#include "lra/status_macros.h"
#include "tasks/profile.h"

namespace lra {
namespace {

struct ProfileFlags {
  std::string run, data_dir, split = "test";
  int threads = 0;
};

// What the task knows of the examples that the run was scored on, seen as the run saw them.
absl::StatusOr<TaskProfile> TaskSide(const ProfileFlags& flags, const RunRecord& run,
                                     const CommandContext& context) {
  TaskProfileRequest request;
  request.task = run.data().task();
  request.data_dir = flags.data_dir;
  LRA_ASSIGN_OR_RETURN(request.exact_view, ViewOfRun(run, ""));
  request.check_data = [&run](const Manifest& manifest, const DataView& view) {
    return CheckDataOfRun(run, manifest, view);
  };
  request.split = flags.split;
  request.options = {.threads = flags.threads, .quiet = context.quiet};
  return ProfileTask(request);
}

absl::Status PrintProfile(const ProfileFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const RunRecord run, ReadRunRecord(flags.run));
  LRA_ASSIGN_OR_RETURN(const std::vector<float> logits, StoredLogits(flags.run, run, flags.split));
  LRA_ASSIGN_OR_RETURN(const TaskProfile task, TaskSide(flags, run, context));
  ProfileInput input = {.record = &run,
                        .split = flags.split,
                        .logits = logits,
                        .labels = task.labels,
                        .strata = task.strata,
                        .ladder = {}};
  for (const BaselinePrediction& step : task.ladder)
    input.ladder.push_back({step.facts.bar, step.logits.front()});
  LRA_ASSIGN_OR_RETURN(const Profile profile, MakeProfile(input));
  std::cout << (context.json ? ProfileJson(profile) + "\n" : ProfileText(profile));
  return absl::OkStatus();
}

}  // namespace

void AddProfileCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<ProfileFlags>();
  CLI::App* command = AddCommand(app, "profile",
                                 "Say of which examples a run's score is made, from its stored "
                                 "predictions (ListOps: by depth of evaluation)");
  AddOption(command, "run", &flags->run, "Run folder with a record and predictions",
            {.is_required = true});
  AddData(command, &flags->data_dir, "; other data than the run's is refused");
  AddOption(command, "--split", &flags->split, "Split", {.shows_default = true});
  AddThreads(command, &flags->threads);
  SetBody(command, context,
          "  lra profile runs/listops-linear-small-s0\n"
          "  lra profile runs/listops-linear-small-s0 --split validation --json",
          [flags, context] { return PrintProfile(*flags, *context); });
}

}  // namespace lra
