#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/experiment_flags.h"
#include "cli/flags.h"
#include "eval/external_record.h"
#include "eval/run_record.h"
#include "eval/score_text.h"
#include "lra/status_macros.h"
#include "tasks/baseline.h"
#include "tasks/inventory.h"

namespace lra {
namespace {

struct ScoreFlags {
  ExternalRequest request;
  PredictionFiles files;
  std::string name, description, out;
  uint32_t seed = 0;
};

absl::Status Print(const Metric& metric, const RunRecord& record, const SplitResult& result,
                   const std::string& folder, bool as_json) {
  const std::string& task = record.data().task();
  if (as_json) {
    nlohmann::ordered_json json = {
        {"run", folder}, {"method", record.method()}, {"task", task}, {"split", result.split()}};
    LRA_RETURN_IF_ERROR(AddScoreWithInterval(metric, result, {folder, task}, 0.95, &json));
    for (const std::string& warning : record.warning()) json["warnings"].push_back(warning);
    PrintJson(json);
    return absl::OkStatus();
  }
  LRA_ASSIGN_OR_RETURN(const std::string score,
                       DescribeScoreWithInterval(metric, result, {folder, task}, 0.95));
  for (const std::string& warning : record.warning()) std::cerr << "warning: " << warning << "\n";
  std::cout << absl::StrFormat("%s %s %s: %s -> %s\n", task, record.method(), result.split(), score,
                               folder);
  return absl::OkStatus();
}

absl::Status Score(const ScoreFlags& flags, const CommandContext& context) {
  ExternalRequest request = flags.request;
  request.data_dir = DataDirectoryOf(request.data_dir);
  LRA_ASSIGN_OR_RETURN(ExternalRun run, OpenExternalRun(request));
  run.name = flags.name;
  run.description = flags.description;
  run.seed = flags.seed;
  run.files = flags.files;
  run.command_line = context.command_line;
  LRA_ASSIGN_OR_RETURN(run.taken_names, TakenNames(request.data_dir));
  const std::string folder = flags.out.empty()
                                 ? ExternalDirectory("runs", run.data.task(), run.name, run.seed)
                                 : flags.out;
  LRA_ASSIGN_OR_RETURN(const RunRecord record, WriteExternalRecord(folder, run));
  LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(record.spec()));
  return Print(*metric, record, *FindResult(record, run.split), folder, context.json);
}

}  // namespace

void AddScoreCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<ScoreFlags>();
  ExternalRequest& request = flags->request;
  CLI::App* command = AddCommand(
      app, "score", "Score predictions of other code: a record that joins tables and `lra diff`");
  AddOption(command, "--data", &request.data_dir, "Folder of a data set, or task",
            {.is_required = true, .value = kDataValue});
  AddOption(command, "--predictions", &flags->files.predictions,
            ".npy of logits [examples, C] or classes [examples], in the data set's order without "
            "an index; or .npz with arrays predictions and index",
            {.is_required = true, .value = kFileValue});
  AddOption(command, "--index", &flags->files.index,
            ".npy of the original index of each row, in any order, as lra data export writes it "
            "(default: rows are in the data set's order)",
            {.value = kFileValue});
  AddOption(command, "--name", &flags->name, "The row's name", {.is_required = true});
  AddOption(command, "--description", &flags->description,
            "What the row is, for the table's notes");
  AddOption(command, "--seed", &flags->seed, "Seed of the row, in which its repeats differ",
            {.shows_default = true});
  AddOption(command, "--split", &request.split, "Split; a look at test is recorded",
            {.shows_default = true, .value = kSplitValue});
  AddViewFlags(command, &request.view);
  AddOption(command, "--out", &flags->out,
            "Folder of the record (default: runs/external-NAME-TASK, -sSEED after it unless 0)",
            {.value = kFolderValue});
  AddThreads(command, &request.threads);
  SetBody(command, context,
          "  lra score --data listops --predictions p.npy --name mine\n"
          "  lra score --data listops --predictions p.npy --index i.npy --name mine\n"
          "  lra score --data data/text --predictions p.npy --name mine --split validation "
          "--set max_length_tokens=1000",
          [flags, context] { return Score(*flags, *context); });
}

}  // namespace lra
