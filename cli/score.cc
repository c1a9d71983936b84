#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/experiment_flags.h"
#include "datasets/dataset.h"
#include "datasets/manifest.h"
#include "datasets/split_view.h"
#include "eval/data_identity.h"
#include "eval/external_record.h"
#include "eval/machine.h"
#include "eval/run_record.h"
#include "eval/statistics.h"
#include "lra/config.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/attention/attention.h"
#include "tasks/baseline.h"
#include "tasks/task.h"

namespace lra {
namespace {

struct ScoreFlags {
  std::string data, predictions, name, description, out,
      split = "test", protocol = ExperimentFlags::kDefaultProtocol,
      preset = ExperimentFlags::kDefaultPreset;
  std::vector<std::string> sets;
  uint32_t seed = 0;
  int threads = 0;
};

absl::StatusOr<std::vector<std::string>> TakenNames(const Manifest& manifest) {
  std::vector<std::string> names = AttentionRegistry::Get().Names();
  if (!TaskRegistry::Get().Has(manifest.spec().name())) return names;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, TaskOf(manifest));
  const std::vector<std::string> baselines = BaselineNames(*task, manifest.spec());
  names.insert(names.end(), baselines.begin(), baselines.end());
  return names;
}

// The data set says which task it is.
absl::StatusOr<ExternalRun> Prepare(const ScoreFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(flags.data));
  ExternalRun run;
  LRA_ASSIGN_OR_RETURN(run.view,
                       LoadView(manifest.spec().name(), flags.protocol, flags.preset, flags.sets));
  LRA_ASSIGN_OR_RETURN(const Dataset data, Dataset::Open(flags.data, {.splits = {flags.split},
                                                                      .view = &run.view,
                                                                      .threads = flags.threads}));
  LRA_ASSIGN_OR_RETURN(const SplitView split, SplitView::Create(data, flags.split, run.view));
  run.name = flags.name;
  run.description = flags.description;
  run.seed = flags.seed;
  run.data = IdentifyData(data.manifest(), run.view);
  run.spec = split.spec();
  run.split = flags.split;
  run.predictions_path = flags.predictions;
  for (int64_t i = 0; i < split.size(); ++i) run.labels.push_back(split.label(i));
  LRA_ASSIGN_OR_RETURN(run.taken_names, TakenNames(data.manifest()));
  run.command_line = context.command_line;
  run.unix_seconds = UnixSeconds();
  return run;
}

void Print(const RunRecord& record, const SplitResult& result, const std::string& folder,
           bool as_json) {
  if (as_json) {
    std::cout << nlohmann::ordered_json{{"run", folder},
                                        {"method", record.method()},
                                        {"task", record.data().task()},
                                        {"split", result.split()},
                                        {"correct", result.correct()},
                                        {"examples", result.examples()},
                                        {"loss_sum", result.loss_sum()}}
                     .dump(2)
              << "\n";
    return;
  }
  const Interval interval = ClopperPearson(result.correct(), result.examples(), 0.95);
  std::cout << absl::StrFormat(
      "%s %s %s: %.2f %% (%s of %s; 95 %% interval %.2f-%.2f, sampling only) -> %s\n",
      record.data().task(), record.method(), result.split(),
      100.0 * result.correct() / result.examples(), FormatCount(result.correct()),
      FormatCount(result.examples()), 100 * interval.low, 100 * interval.high, folder);
}

absl::Status Score(const ScoreFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const ExternalRun run, Prepare(flags, context));
  const std::string folder = flags.out.empty()
                                 ? ExternalDirectory("runs", run.data.task(), run.name, run.seed)
                                 : flags.out;
  LRA_ASSIGN_OR_RETURN(const RunRecord record, WriteExternalRecord(folder, run));
  Print(record, *FindResult(record, flags.split), folder, context.json);
  return absl::OkStatus();
}

}  // namespace

void AddScoreCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App* command = app->add_subcommand(
      "score", "Score predictions of other code: a record that joins tables and `lra diff`");
  command->add_option("--data", flags->data, "Prepared data, e.g. data/listops")->required();
  command
      ->add_option("--predictions", flags->predictions,
                   ".npy of logits [examples, C] or classes [examples], in the data set's order")
      ->required();
  command->add_option("--name", flags->name, "The row's name")->required();
  command->add_option("--description", flags->description,
                      "What the row is, for the table's notes");
  command->add_option("--seed", flags->seed, "Repeats of a row differ in it")
      ->capture_default_str();
  command->add_option("--split", flags->split, "Split; a look at test is recorded")
      ->capture_default_str();
  AddViewFlags(command, &flags->protocol, &flags->preset, &flags->sets);
  command->add_option("--out", flags->out,
                      "Folder of the record (default: runs/external-NAME-TASK, -sSEED after it "
                      "unless 0)");
  command->add_option("--threads", flags->threads, "Threads; 0 = all cores")
      ->check(CLI::NonNegativeNumber);
  AddCommonFlags(command, context,
                 "  lra score --data data/listops --predictions p.npy --name mine\n"
                 "  lra score --data data/text --predictions p.npy --name mine --split validation "
                 "--set max_length_tokens=1000");
  command->callback(RunCommand(context, [flags, context] { return Score(*flags, *context); }));
}

}  // namespace lra
