#include <csignal>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/experiment_flags.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "models/runtime.h"
#include "nlohmann/json.hpp"
#include "train/seeds.h"
#include "train/trainer.h"

namespace lra {
namespace {

struct TrainFlags {
  ExperimentFlags experiment;
  RuntimeConfig runtime;
  std::string data_dir, out_dir, device = "cpu", seeds;
  int threads = 0, checkpoint_every = 0, micro_batch = 0;
  bool resume = false;
};

std::string Describe(const RunRecord& record, const std::string& out) {
  std::string text =
      absl::StrCat(record.config().task(), " ", record.method(), " seed ", record.seed(), ":");
  for (const SplitResult& result : record.results()) {
    if (result.checkpoint() != "selected") continue;
    absl::StrAppend(
        &text, " ", result.split(),
        absl::StrFormat(" %.2f %% (%s of %s)", 100.0 * result.correct() / result.examples(),
                        FormatCount(result.correct()), FormatCount(result.examples())));
  }
  return absl::StrCat(text, " at step ", record.selected_step(), " -> ", out);
}

nlohmann::json ToJsonResult(const RunRecord& record, const std::string& out) {
  nlohmann::json json = {{"run", out},
                         {"method", record.method()},
                         {"seed", record.seed()},
                         {"selected_step", record.selected_step()}};
  for (const SplitResult& result : record.results()) {
    if (result.checkpoint() != "selected") continue;
    json[result.split()] = {{"correct", result.correct()}, {"examples", result.examples()}};
  }
  return json;
}

TrainRequest MakeRequest(const TrainFlags& flags, const ResolvedConfig& resolved, uint32_t seed,
                         bool several, const CommandContext& context) {
  TrainRequest request;
  request.resolved = resolved;
  request.resolved.config.set_seed(seed);
  if (!flags.seeds.empty()) request.resolved.provenance["seed"] = "--seeds";
  request.resume = flags.resume;
  request.command_line = context.command_line;
  RuntimeConfig& runtime = request.runtime;
  runtime.set_threads(flags.threads);
  runtime.set_device(flags.device);
  runtime.set_checkpoint_every_steps(flags.checkpoint_every);
  runtime.set_micro_batch_examples(flags.micro_batch);
  runtime.set_quiet(context.quiet);
  const ExperimentConfig& config = request.resolved.config;
  runtime.set_data_dir(flags.data_dir.empty() ? DefaultDataDirectory(config.task())
                                              : flags.data_dir);
  runtime.set_out_dir(flags.out_dir.empty() ? DefaultRunDirectory(config)
                      : several             ? absl::StrCat(flags.out_dir, "-s", seed)
                                            : flags.out_dir);
  return request;
}

// Stops after the current step; a second signal ends the program at once.
void StopOnSignals() {
  for (const int number : {SIGINT, SIGTERM}) {
    std::signal(number, [](int received) {
      RequestStop();
      std::signal(received, SIG_DFL);
    });
  }
}

absl::Status TrainAll(const std::vector<TrainRequest>& requests, bool json,
                      nlohmann::json* results) {
  for (const TrainRequest& request : requests) {
    LRA_ASSIGN_OR_RETURN(const RunRecord record, TrainRun(request));
    if (!json) std::cout << Describe(record, request.runtime.out_dir()) << std::endl;
    results->push_back(ToJsonResult(record, request.runtime.out_dir()));
  }
  return absl::OkStatus();
}

absl::Status Train(const TrainFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig resolved, flags.experiment.Resolve());
  std::vector<uint32_t> seeds = {resolved.config.seed()};
  if (!flags.seeds.empty()) {
    LRA_ASSIGN_OR_RETURN(seeds, ParseSeeds(flags.seeds));
  }
  std::vector<TrainRequest> requests;
  for (uint32_t seed : seeds) {
    requests.push_back(MakeRequest(flags, resolved, seed, seeds.size() > 1, context));
    LRA_RETURN_IF_ERROR(CheckRunDirectory(requests.back()));  // before hours of other seeds
  }
  StartRuntime(flags.threads);
  StopOnSignals();
  nlohmann::json results = nlohmann::json::array();
  const absl::Status status = TrainAll(requests, context.json, &results);
  if (context.json && !results.empty()) std::cout << results.dump(2) << "\n";
  return status;
}

}  // namespace

void AddTrainCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = app->add_subcommand(
      "train", "Train, select, test and record one model, for one or more seeds");
  flags->experiment.Add(command);
  command->add_option("--data", flags->data_dir,
                      "Prepared data (default: $LRA_DATA/TASK, ./data/TASK)");
  command->add_option(
      "--out", flags->out_dir,
      "Run folder (default: runs/TASK-ATTENTION-PRESET-sSEED; with several seeds -sSEED is added)");
  command->add_option("--seeds", flags->seeds,
                      "Seeds, e.g. 0, 0-4 or 0-2,7 (default: the configuration's)");
  command->add_flag("--resume", flags->resume,
                    "Go on from the latest checkpoint; a finished run is left as it is");
  command->add_option("--device", flags->device, "cpu")->capture_default_str();
  command
      ->add_option("--threads", flags->threads,
                   "Threads; 0 = all cores. The last digits of a result depend on it")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--checkpoint-every", flags->checkpoint_every,
                   "Steps between extra checkpoints (one is made at every validation)")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--micro-batch", flags->micro_batch,
                   "Examples in one forward pass; 0 = the whole batch. Saves memory")
      ->check(CLI::NonNegativeNumber);
  AddCommonFlags(
      command, context,
      "  lra train --task listops --attention linear --preset small --seeds 0-2\n"
      "  lra train --config configs/quickstart.textproto --attention cosformer --resume");
  command->callback(RunCommand(context, [flags, context] { return Train(*flags, *context); }));
}

}  // namespace lra
