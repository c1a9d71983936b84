// lra bench data
#include <memory>

#include "absl/strings/str_cat.h"
#include "bench/data_table.h"
#include "bench/measure/loading.h"
#include "cli/bench.h"
#include "cli/experiment_flags.h"
#include "cli/flags.h"
#include "cli/patient_threads.h"
#include "cli/stop_signals.h"
#include "lra/child.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "tasks/task.h"
#include "train/interruption.h"
#include "train/request.h"

namespace lra {
namespace {

struct DataFlags {
  TrainChoice choice;
  std::string data, kernels;
  int64_t batches = 200, steps = 20;
  std::string prepared;
  PreparePlan prepare;
  BenchFlags bench;
};

LoadingTimes TimesOf(const LoadingResult& result, const std::string& what) {
  LoadingTimes times = {what};
  times.batches_per_second = double(result.batches) / result.reading_seconds;
  times.tokens_per_second = double(result.tokens) / result.reading_seconds;
  times.padding_share = 1 - double(result.tokens) / double(result.padded_tokens);
  times.steps = result.steps;
  times.step_seconds = result.step_seconds;
  times.waiting_seconds = result.waiting_seconds;
  times.page_faults = result.page_faults;
  return times;
}

absl::Status RunLoading(const DataFlags& flags, const CommandContext& context) {
  WaitPatiently(flags.bench.threads);
  TrainChoice choice = flags.choice;
  choice.runtime.set_threads(ResolveThreads(flags.bench.threads));
  choice.runtime.set_kernels(flags.kernels);
  choice.runtime.set_data_dir(flags.data);
  LRA_ASSIGN_OR_RETURN(const std::vector<TrainRequest> requests, MakeTrainRequests(choice));
  const TrainRequest& request = requests.front();
  const ExperimentConfig& config = request.resolved.config;
  LRA_RETURN_IF_ERROR(CheckDataOfTask(request.runtime.data_dir(), config.task()));
  LRA_ASSIGN_OR_RETURN(const LoadingResult result,
                       MeasureLoading(request, flags.batches, flags.steps));
  const LoadingTimes times =
      TimesOf(result, absl::StrCat(config.task(), ", ", config.attention().name(),
                                   ", B = ", config.train().batch_examples(), ", ",
                                   request.runtime.threads(), " threads"));
  return PrintBench(LoadingText(times), LoadingJson(times), flags.bench, context);
}

absl::Status RunPreparing(const DataFlags& flags, const CommandContext& context) {
  PreparePlan plan = flags.prepare;
  plan.task = flags.prepared;
  plan.threads = ResolveThreads(flags.bench.threads);
  plan.is_quiet = context.quiet;
  OnStopSignals(RequestStop);
  plan.should_stop = StopRequested;
  LRA_ASSIGN_OR_RETURN(const PrepareTimes times, MeasurePreparing(plan, ThisProgram()));
  return PrintBench(PrepareText(times), PrepareJson(times), flags.bench, context);
}

}  // namespace

void AddBenchData(CLI::App* group, CommandContext* context) {
  auto flags = std::make_shared<DataFlags>();
  CLI::App* command = AddCommand(
      group, "data", "Reading batches and waiting for them in training; preparing and verifying");
  AddExperimentFlags(command, &flags->choice.experiment);
  AddData(command, &flags->data);
  AddOption(command, "--batches", &flags->batches, "Batches read with nothing else to do",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddOption(command, "--steps", &flags->steps, "Training steps that read; 0 = none",
            {.shows_default = true, .allowed = FlagRules::kNonNegative});
  AddOption(command, "--prepare", &flags->prepared,
            "Time preparing and verifying this task's data instead, into a temporary folder",
            {.value = kTaskValue});
  AddOption(command, "--raw", &flags->prepare.raw, "With --prepare: the archive to read",
            {.needs = "--prepare", .value = kFileValue});
  AddOption(command, "--prepare-set", &flags->prepare.sets,
            "With --prepare: a task option, e.g. max_depth=5",
            {.needs = "--prepare", .value = kTaskOptionValue});
  AddOption(command, "--repetitions", &flags->prepare.repetitions, "With --prepare: how often",
            {.shows_default = true, .allowed = FlagRules::kPositive});
  AddKernels(command, &flags->kernels);
  AddBenchFlags(command, &flags->bench);
  SetBody(command, context,
          "  lra bench data --task listops --attention linear --preset small\n"
          "  lra bench data --prepare listops --threads 2\n"
          "  lra bench data --prepare text --raw aclImdb_v1.tar.gz",
          [flags, context] {
            return flags->prepared.empty() ? RunLoading(*flags, *context)
                                           : RunPreparing(*flags, *context);
          });
}

}  // namespace lra
