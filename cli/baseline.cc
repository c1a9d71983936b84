#include "tasks/baseline.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/experiment_flags.h"
#include "datasets/dataset.h"
#include "datasets/split_view.h"
#include "eval/baseline_record.h"
#include "eval/data_identity.h"
#include "eval/machine.h"
#include "eval/run_record.h"
#include "lra/config.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "tasks/task.h"

namespace lra {
namespace {

struct BaselineFlags {
  std::string task, data, out = "runs", split = "test",
                          protocol = ExperimentFlags::kDefaultProtocol,
                          preset = ExperimentFlags::kDefaultPreset;
  std::vector<std::string> sets;
  int threads = 0;
};

// Validation and test, and the split that was asked for.
std::vector<std::string> SplitsToScore(const std::string& split) {
  std::vector<std::string> splits = {"validation", "test"};
  if (std::find(splits.begin(), splits.end(), split) == splits.end()) splits.push_back(split);
  return splits;
}

std::vector<int32_t> Labels(const SplitView& split) {
  std::vector<int32_t> labels(split.size());
  for (int64_t i = 0; i < split.size(); ++i) labels[i] = split.label(i);
  return labels;
}

// All baselines of the task on all splits.
absl::StatusOr<std::vector<BaselineRun>> RunAll(const Task& task, const Dataset& data,
                                                const DataView& view,
                                                const std::vector<std::string>& names,
                                                const BaselineOptions& options) {
  LRA_ASSIGN_OR_RETURN(const SplitView train, SplitView::Create(data, "train", view));
  std::vector<SplitView> splits;
  for (const std::string& name : names) {
    LRA_ASSIGN_OR_RETURN(splits.emplace_back(), SplitView::Create(data, name, view));
  }
  std::vector<const SplitView*> scored;
  for (const SplitView& split : splits) scored.push_back(&split);
  LRA_ASSIGN_OR_RETURN(std::vector<BaselinePrediction> predictions,
                       RunBaselines(task, train, splits[0], scored, options));
  std::vector<BaselineRun> runs;
  for (BaselinePrediction& prediction : predictions) {
    BaselineRun& run = runs.emplace_back();
    run.name = prediction.name;
    run.description = prediction.description;
    run.data = IdentifyData(data.manifest(), view);
    run.spec = train.spec();
    for (size_t i = 0; i < names.size(); ++i) {
      run.splits.push_back({names[i], std::move(prediction.logits[i]), Labels(splits[i])});
    }
  }
  return runs;
}

std::string Describe(const RunRecord& record, const SplitResult& result,
                     const std::string& folder) {
  return absl::StrFormat("%s %-16s %6.2f %% of %s %s examples -> %s", record.config().task(),
                         record.method(), 100.0 * result.correct() / result.examples(),
                         FormatCount(result.examples()), result.split(), folder);
}

nlohmann::ordered_json ToJsonResult(const RunRecord& record, const SplitResult& result,
                                    const std::string& folder) {
  return {{"run", folder},
          {"baseline", record.method()},
          {"split", result.split()},
          {"correct", result.correct()},
          {"examples", result.examples()}};
}

absl::Status Baseline(const BaselineFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(flags.task));
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task,
                       TaskRegistry::Get().Create("task", flags.task, file.options()));
  LRA_ASSIGN_OR_RETURN(const DataView view,
                       LoadView(flags.task, flags.protocol, flags.preset, flags.sets));
  const std::string data_dir = flags.data.empty() ? DefaultDataDirectory(flags.task) : flags.data;
  LRA_RETURN_IF_ERROR(CheckDataOfTask(data_dir, flags.task));
  const std::vector<std::string> splits = SplitsToScore(flags.split);
  OpenOptions options{.splits = splits, .view = &view, .threads = flags.threads};
  if (flags.split != "train") options.splits.push_back("train");
  LRA_ASSIGN_OR_RETURN(const Dataset data, Dataset::Open(data_dir, options));
  LRA_ASSIGN_OR_RETURN(
      std::vector<BaselineRun> runs,
      RunAll(*task, data, view, splits, {.threads = flags.threads, .quiet = context.quiet}));
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (BaselineRun& run : runs) {
    run.command_line = context.command_line;
    run.unix_seconds = UnixSeconds();
    const std::string folder = BaselineDirectory(flags.out, flags.task, run.name);
    LRA_ASSIGN_OR_RETURN(const RunRecord record, WriteBaselineRecord(folder, run));
    const SplitResult& result = *FindResult(record, flags.split);
    if (!context.json) std::cout << Describe(record, result, folder) << "\n";
    results.push_back(ToJsonResult(record, result, folder));
  }
  if (context.json) std::cout << results.dump(2) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddBaselineCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<BaselineFlags>();
  CLI::App* command = app->add_subcommand("baseline",
                                          "Record what needs no attention: the majority class, the "
                                          "task's own shortcut, a linear model");
  command->add_option("task", flags->task, "Task: `lra list tasks`")->required();
  command->add_option("--data", flags->data,
                      "Prepared data (default: $LRA_DATA/TASK, ./data/TASK)");
  command->add_option("--out", flags->out, "Folder of the run folders")->capture_default_str();
  command
      ->add_option("--split", flags->split,
                   "Split to print; validation and test are recorded always")
      ->capture_default_str();
  AddViewFlags(command, &flags->protocol, &flags->preset, &flags->sets);
  command->add_option("--threads", flags->threads, "Threads; 0 = all cores")
      ->check(CLI::NonNegativeNumber);
  AddCommonFlags(command, context,
                 "  lra baseline listops\n"
                 "  lra baseline listops --data data/listops --split validation --json");
  command->callback(RunCommand(context, [flags, context] { return Baseline(*flags, *context); }));
}

}  // namespace lra
