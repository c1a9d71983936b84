#include "eval/profile.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "bench/gnuplot.h"
#include "bench/profile_figure.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "eval/data_identity.h"
#include "eval/published.h"
#include "eval/run_record.h"
#include "inspect/open_checkpoint.h"
#include "inspect/perturbed.h"
#include "inspect/profile_runs.h"
#include "lra/files.h"
#include "lra/name_list.h"
#include "lra/status_macros.h"
#include "lra/task_files.h"
#include "tasks/profile.h"

namespace lra {
namespace {

struct ProfileFlags {
  ProfileRunsRequest request;
  std::vector<std::string> published;
  std::string methods, figure, out;
};

// Sees the data as the run saw it; `look` says which split.
absl::StatusOr<TaskProfile> TaskSideOf(const RunRecord& run, const std::string& data_dir,
                                       const PerturbedRequest& look) {
  TaskProfileRequest request;
  request.task = run.data().task();
  request.data_dir = data_dir;
  LRA_ASSIGN_OR_RETURN(request.exact_view, ViewOfRun(run, ""));
  request.check_data = [&run](const Manifest& manifest, const DataView& view) {
    return CheckDataOfRun(run, manifest, view);
  };
  request.split = look.split;
  request.options = {.threads = look.threads, .quiet = look.quiet};
  return ProfileTask(request);
}

// One run that stored its predictions: with what baselines answer to the same examples.
absl::Status PrintOneRun(const PerturbedRequest& look, const ProfileFlags& flags,
                         const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const RunRecord run, ReadRunRecord(look.checkpoint));
  LRA_ASSIGN_OR_RETURN(const std::vector<float> logits,
                       StoredLogits(look.checkpoint, run, look.split));
  const std::string own = look.data_of_run();
  LRA_ASSIGN_OR_RETURN(
      const TaskProfile task,
      TaskSideOf(run, own.empty() ? DataDirectoryOfRun(look.checkpoint) : own, look));
  ProfileInput input = {.record = &run,
                        .split = look.split,
                        .logits = logits,
                        .labels = task.labels,
                        .strata = task.strata,
                        .ladder = {},
                        .block_examples = BlockExamplesOf(run.data().task())};
  for (const BaselinePrediction& step : task.ladder)
    input.ladder.push_back({step.facts.bar, step.logits.front()});
  LRA_ASSIGN_OR_RETURN(Profile profile, MakeProfile(input));
  if (flags.request.perturbs) {
    LRA_ASSIGN_OR_RETURN(const PerturbedScores scores, ScorePerturbed(look));
    profile.tables.push_back(PerturbedTable(scores));
  }
  std::cout << (context.json ? ProfileJson(profile) + "\n" : ProfileText(profile));
  if (flags.out.empty()) return absl::OkStatus();
  return WriteFileAtomically(flags.out, ProfileJson(profile) + "\n");
}

// Numbers in print that were asked for and have no place anywhere.
void WarnOfPublished(const ProfileFlags& flags, const std::vector<ProfileBoard>& boards) {
  const auto has_published = [](const ProfileBoard& board) { return !board.published.empty(); };
  if (flags.published.empty() || absl::c_any_of(boards, has_published)) return;
  const bool has_baselines = absl::c_any_of(boards, [](const ProfileBoard& board) {
    return board.group->settings.front().kind == RunRecord::BASELINE;
  });
  std::cerr << "warning: --published has no places: "
            << (has_baselines ? "no number in it is of these tasks, their metric and split on "
                                "canonical data"
                              : "no baselines are among these runs; `lra baseline` records them")
            << "\n";
}

absl::Status PrintRuns(ProfileRunsRequest request, const ProfileFlags& flags,
                       const CommandContext& context) {
  request.strata_of = [&look = request.look](
                          const RunRecord& run,
                          const std::string& data_dir) -> absl::StatusOr<std::vector<Strata>> {
    LRA_ASSIGN_OR_RETURN(TaskProfile task, TaskSideOf(run, data_dir, look));
    return std::move(task.strata);
  };
  LRA_ASSIGN_OR_RETURN(const ProfiledRuns profiled, ProfileRuns(request));
  if (context.json) {
    std::cout << ProfileBoardsJson(profiled.boards) << "\n";
  } else {
    for (const ProfileBoard& board : profiled.boards)
      std::cout << (&board == &profiled.boards.front() ? "" : "\n") << ProfileBoardText(board);
  }
  if (!flags.out.empty()) {
    LRA_RETURN_IF_ERROR(WriteFileAtomically(flags.out, ProfileBoardsJson(profiled.boards) + "\n"));
  }
  WarnOfPublished(flags, profiled.boards);
  for (const std::string& reason : profiled.left_out) std::cerr << "left out: " << reason << "\n";
  if (!flags.figure.empty()) {
    LRA_ASSIGN_OR_RETURN(const std::vector<std::string> stems,
                         DrawProfiles(profiled.boards, flags.figure));
    for (const std::string& stem : stems) std::cerr << "wrote " << PictureFiles(stem) << "\n";
  }
  return DamagedRecords(profiled.found.damaged, "the profile");
}

// A folder that is one run with its predictions.
bool IsOneRun(const ProfileFlags& flags) {
  const ProfileRunsRequest& request = flags.request;
  const bool asks_for_tables =
      !flags.published.empty() || !flags.methods.empty() || !flags.figure.empty();
  if (request.runs.size() != 1 || asks_for_tables) return false;
  const absl::StatusOr<RunRecord> run = ReadRunRecord(request.runs.front());
  if (!run.ok()) return false;
  const SplitResult* result = FindResult(*run, request.look.split);
  return result == nullptr || result->predictions_file().empty() ||
         FileExists(JoinPath(request.runs.front(), result->predictions_file()));
}

absl::Status PrintProfile(const ProfileFlags& flags, const CommandContext& context) {
  ProfileRunsRequest request = flags.request;
  if (!flags.out.empty()) LRA_RETURN_IF_ERROR(CheckCanWrite(flags.out));
  if (request.look.allows_other_data && !request.perturbs) {
    return absl::InvalidArgumentError(
        "--other-data: stored predictions are about the run's own examples; add --perturb to run "
        "the model on others");
  }
  for (const std::string& name : flags.published) {
    LRA_ASSIGN_OR_RETURN(request.published.emplace_back(), LoadPublishedTable(name));
  }
  LRA_ASSIGN_OR_RETURN(request.methods, SplitNames("--methods", flags.methods));
  if (request.perturbs) LRA_RETURN_IF_ERROR(StartComputing(request.look.threads, context));
  request.look.quiet = context.quiet;
  request.look.command_line = context.command_line;
  if (!IsOneRun(flags)) return PrintRuns(request, flags, context);
  request.look.checkpoint = request.runs.front();
  return PrintOneRun(request.look, flags, context);
}

}  // namespace

void AddProfileCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<ProfileFlags>();
  CLI::App* command = AddCommand(
      app, "profile",
      "Say of which examples scores are made: ListOps by depth of evaluation, Pathfinder by reach, "
      "others by length; of one run in detail, of several as tables");
  ProfileRunsRequest& request = flags->request;
  PerturbedRequest& look = request.look;
  AddOption(command, "runs", &request.runs,
            "A run folder with its predictions; or several, or folders that hold some, where the "
            "scores of examples beside the records do",
            {.is_required = true});
  AddDataOfRun(command, &look.data_dir, &look.allows_other_data);
  AddOption(command, "--split", &look.split, "Split",
            {.shows_default = true, .value = kSplitValue});
  AddOption(command, "--published", &flags->published,
            "Published tables whose numbers get a place among the baselines, e.g. lra2020; a wrong "
            "name lists them",
            {.value = kPublishedValue});
  AddOption(command, "--methods", &flags->methods,
            "Methods to show, e.g. linear,cosformer (default: all); baselines stay",
            {.value = kAttentionValue});
  AddOption(
      command, "--figure", &flags->figure,
      "Draw each way to sort the examples to PREFIX-1.svg, ..., also as .pdf and .png, a paper's "
      "column wide (needs gnuplot)",
      {.value = kPrefixValue});
  AddOption(command, "--out", &flags->out, "Write JSON to this file, too", {.value = kFileValue});
  AddSwitch(
      command, "--perturb", &request.perturbs,
      "Also run the models on texts whose blocks or windows are shuffled, or on images whose "
      "patches are, and with --other-data on that data; a look at test is logged in the run's "
      "record");
  AddOption(command, "--examples", &look.examples,
            "How many examples are perturbed, the first of the split; 0 = all",
            {.shows_default = true, .allowed = FlagRules::kNonNegative, .needs = "--perturb"});
  AddThreads(command, &look.threads);
  AddDevice(command, &look.device, "--perturb");
  AddKernels(command, &context->kernels);
  SetBody(command, context,
          "  lra profile runs/listops-linear-small-s0\n"
          "  lra profile runs/text-linear-small-s0 --perturb --examples 2000 --json\n"
          "  lra profile runs/strong_small --published lra2020 cosformer2022",
          [flags, context] { return PrintProfile(*flags, *context); });
}

}  // namespace lra
