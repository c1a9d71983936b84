#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "cli/stop_signals.h"
#include "cli/suite_command.h"
#include "cli/train_flags.h"
#include "eval/score_text.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"
#include "models/base/runtime.h"
#include "nlohmann/json.hpp"
#include "suite/init_from.h"
#include "suite/lists.h"
#include "tasks/task.h"
#include "train/data_notes.h"
#include "train/run_estimate.h"
#include "train/series.h"
#include "train/shared_run.h"
#include "train/trainer.h"

namespace lra {
namespace {

std::string Describe(const Metric& metric, const RunRecord& record, const std::string& out) {
  std::string text =
      absl::StrCat(record.config().task(), " ", record.method(), " seed ", record.seed(), ":");
  for (const SplitResult& result : record.results()) {
    if (result.checkpoint() != "selected") continue;
    absl::StrAppend(&text, " ", result.split(), " ", DescribeScore(metric, result));
  }
  return absl::StrCat(text, " at step ", record.selected_step(), " -> ", out);
}

// SIGUSR1 saves and goes on. SIGINT and SIGTERM save and stop after the current step.
void ListenToSignals() {
  std::signal(SIGUSR1, [](int) { RequestSave(); });
  OnStopSignals(RequestStop);
}

// Seeds share their data.
void PrintRequestNotes(const TrainRequest& request) {
  for (const std::string& note : DataNotes(request.resolved.config, request.runtime.data_dir()))
    std::cerr << "note: " << note << "\n";
}

// Seeds differ in nothing that takes time. What training some side by side takes is not measured.
absl::Status PrintEstimate(const std::vector<TrainRequest>& requests, int at_once,
                           const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const RunEstimate estimate, EstimateRun(requests.front()));
  const double all_seconds = static_cast<double>(requests.size()) * estimate.wall_seconds();
  if (context.json) {
    auto json = nlohmann::ordered_json::parse(ToJson(estimate));
    json["runs"] = requests.size();
    json["wall_seconds_one_after_the_other"] = all_seconds;
    PrintJson(json);
    return absl::OkStatus();
  }
  std::cout << DescribeRunEstimate(estimate);
  if (requests.size() > 1) {
    std::cout << requests.size() << " runs one after the other: about "
              << FormatSeconds(all_seconds)
              << (at_once > 1 ? "; side by side (--at-once) was not measured" : "") << "\n";
  }
  std::cout << std::flush;
  return absl::OkStatus();
}

absl::Status CheckAtOnce(int at_once, const std::vector<TrainRequest>& requests) {
  if (at_once == 1 || requests.size() > 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--at-once ", at_once, " changes nothing: there is one seed; give several with --seeds"));
}

// Flags of the program's own suites, which lists make one of.
struct ListFlags {
  SuiteFlags suite;
  bool is_given() const {
    return suite.workers > 0 || suite.pins_workers || !suite.budget.empty() ||
           !suite.shard.empty() || suite.retries_failed || !suite.reuse.empty();
  }
};

absl::Status TrainLists(const TrainFlags& flags, const SuiteFlags& suite_flags,
                        const CommandContext& context) {
  const TrainChoice choice = flags.Choice(context);
  LRA_ASSIGN_OR_RETURN(SuiteFile suite, SuiteOfLists(choice.experiment, choice.seeds));
  LRA_RETURN_IF_ERROR(StartAllFrom(choice, &suite));
  const std::string& data_dir = choice.runtime.data_dir();
  if (!data_dir.empty() && suite.group(0).task_size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--data ", data_dir, ": several tasks have their data in $LRA_DATA/TASK or ./data/TASK"));
  }
  SuiteRunOptions options;
  options.data_dir = data_dir;
  options.out = choice.runtime.out_dir().empty() ? DefaultListFolder(suite, data_dir)
                                                 : choice.runtime.out_dir();
  options.threads = std::max(1, choice.runtime.threads());
  options.at_once = flags.at_once();
  options.train_flags = flags.PassedOn(context);
  if (!context.quiet) std::cerr << "runs: " << options.out << "\n";
  return RunSuiteFile(suite, suite_flags, options, context);
}

absl::Status Train(const TrainFlags& flags, const ListFlags& lists, const CommandContext& context) {
  if (flags.is_list()) {
    LRA_RETURN_IF_ERROR(CheckAlone("lists of tasks or attentions"));
    return TrainLists(flags, lists.suite, context);
  }
  if (lists.is_given()) {
    return absl::InvalidArgumentError(
        "--workers, --pin-workers, --budget, --shard, --retry-failed and --reuse are about lists: "
        "--task or --attention with several names, such as relu,cosformer");
  }
  const bool is_dry = lists.suite.is_dry;
  if (is_dry) LRA_RETURN_IF_ERROR(CheckAlone("the measurements of --dry-run"));
  TrainChoice choice = flags.Choice(context);
  WaitPatiently(choice.runtime.threads());
  LRA_ASSIGN_OR_RETURN(choice.ranks, JoinRanks(&choice));
  LRA_ASSIGN_OR_RETURN(const std::vector<TrainRequest> requests, MakeTrainRequests(choice));
  LRA_RETURN_IF_ERROR(CheckAtOnce(flags.at_once(), requests));
  for (const TrainRequest& request : requests) {
    LRA_RETURN_IF_ERROR(
        CheckDataOfTask(request.runtime.data_dir(), request.resolved.config.task()));
  }
  if (!context.quiet && choice.ranks->is_first()) PrintRequestNotes(requests.front());
  // Before hours of other seeds.
  if (!is_dry) LRA_RETURN_IF_ERROR(CheckRunDirectories(requests, choice.ranks.get()));
  const RuntimeConfig& runtime = requests.front().runtime;
  LRA_RETURN_IF_ERROR(StartRuntime(runtime.threads(), runtime.kernels()));
  ListenToSignals();  // of a dry run too, so that it removes what it wrote
  if (is_dry) return PrintEstimate(requests, flags.at_once(), context);
  nlohmann::json results = nlohmann::json::array();
  const absl::Status status =
      TrainAtOnce(requests, flags.at_once(),
                  [&](const TrainRequest& request, const RunRecord& record) -> absl::Status {
                    if (!choice.ranks->is_first()) return absl::OkStatus();
                    LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(record.spec()));
                    const std::string& out = request.runtime.out_dir();
                    if (!context.json) std::cout << Describe(*metric, record, out) << std::endl;
                    AddRun(*metric, record, out, &results.emplace_back());
                    return absl::OkStatus();
                  });
  if (context.json && !results.empty()) std::cout << JsonText(results) << "\n";
  if (status.ok()) return choice.ranks->Leave();
  return status;
}

}  // namespace

void AddTrainCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = AddCommand(
      app, "train",
      "Train, select, test and record a model, for one or more seeds; or many, by lists");
  auto lists = std::make_shared<ListFlags>();
  flags->Add(command, context);
  AddSwitch(command, "--dry-run", &lists->suite.is_dry,
            "Only measure some steps, and print the time, memory and disk that a run will take");
  AddSuiteFlags(command, &lists->suite);
  SetBody(command, context,
          "  lra train --task listops --attention linear --preset small --seeds 0-2\n"
          "  lra train --resume --out runs/first\n"
          "  lra train --task listops,text --attention relu,cosformer --seeds 0-4 --dry-run",
          [flags, lists, context] { return Train(*flags, *lists, *context); });
}

}  // namespace lra
