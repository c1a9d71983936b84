#include "cli/leaderboard_flags.h"

#include <map>
#include <utility>

#include "cli/suite_command.h"
#include "eval/published.h"
#include "lra/config.h"
#include "lra/name_list.h"
#include "lra/status_macros.h"
#include "run_folder/stopped_runs.h"

namespace lra {
namespace {

std::map<std::string, std::string> AttentionDescriptions() {
  std::map<std::string, std::string> descriptions;
  for (const std::string& name : ConfigNames("attentions")) {
    if (const auto description = ConfigDescription("attentions", name); description.ok())
      descriptions[name] = *description;
  }
  return descriptions;
}

}  // namespace

void AddRunsArgument(CLI::App* command, LeaderboardFlags* flags) {
  AddOption(command, "runs", &flags->runs,
            "Run folders, folders that hold some, or suites (their names: runs/SUITE)",
            {.is_required = true});
}

void AddLeaderboardFlags(CLI::App* command, LeaderboardFlags* flags) {
  AddOption(command, "--published", &flags->published,
            "Published tables to show beside, e.g. cosformer2022; a wrong name lists them",
            {.value = kPublishedValue});
  AddOption(command, "--split", &flags->options.split, "Split to show",
            {.shows_default = true, .value = kSplitValue});
  AddOption(command, "--metric", &flags->options.metric,
            "Metric to show, e.g. nats; a wrong name lists them (default: the task's)",
            {.value = kMetricValue});
  AddOption(command, "--confidence", &flags->options.confidence, "Confidence of the intervals",
            {.shows_default = true});
}

void AddChoiceFlags(CLI::App* command, LeaderboardFlags* flags) {
  AddOption(command, "--tasks", &flags->tasks, "Tasks to show, e.g. listops,text (default: all)",
            {.value = kTaskValue});
  AddOption(command, "--methods", &flags->methods,
            "Methods to show, e.g. linear,cosformer (default: all); baselines stay",
            {.value = kAttentionValue});
}

absl::StatusOr<std::vector<std::string>> FoldersOf(const LeaderboardFlags& flags) {
  std::vector<std::string> folders;
  for (const std::string& name : flags.runs) {
    LRA_ASSIGN_OR_RETURN(folders.emplace_back(), SuiteFolder(name));
  }
  return folders;
}

absl::StatusOr<LoadedBoard> LoadBoard(const LeaderboardFlags& flags) {
  std::vector<PublishedTable> published;
  for (const std::string& name : flags.published) {
    LRA_ASSIGN_OR_RETURN(PublishedTable table, LoadPublishedTable(name));
    published.push_back(std::move(table));
  }
  LeaderboardOptions options = flags.options;
  options.descriptions = AttentionDescriptions();
  LRA_ASSIGN_OR_RETURN(options.tasks, SplitNames("--tasks", flags.tasks));
  LRA_ASSIGN_OR_RETURN(options.methods, SplitNames("--methods", flags.methods));
  LRA_ASSIGN_OR_RETURN(std::vector<std::string> folders, FoldersOf(flags));
  LRA_ASSIGN_OR_RETURN(FoundRuns found, FindRunRecords(folders, Damaged::kSetAside));
  LRA_RETURN_IF_ERROR(AddStoppedRuns(&found));
  LRA_ASSIGN_OR_RETURN(Leaderboard board, BuildLeaderboard(found, published, options));
  return LoadedBoard{std::move(folders), std::move(found), std::move(board)};
}

}  // namespace lra
