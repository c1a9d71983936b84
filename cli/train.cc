#include <csignal>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/train_flags.h"
#include "eval/score_text.h"
#include "lra/status_macros.h"
#include "models/base/runtime.h"
#include "nlohmann/json.hpp"
#include "tasks/task.h"
#include "train/series.h"
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

nlohmann::json ToJsonResult(const Metric& metric, const RunRecord& record, const std::string& out) {
  nlohmann::json json = {{"run", out},
                         {"method", record.method()},
                         {"seed", record.seed()},
                         {"selected_step", record.selected_step()}};
  for (const SplitResult& result : record.results()) {
    if (result.checkpoint() != "selected") continue;
    AddScore(metric, result, &json[result.split()]);
  }
  return json;
}

// SIGUSR1 saves and goes on. SIGINT and SIGTERM save and stop after the current step; a second one
// ends the program at once.
void ListenToSignals() {
  std::signal(SIGUSR1, [](int) { RequestSave(); });
  for (const int number : {SIGINT, SIGTERM}) {
    std::signal(number, [](int received) {
      RequestStop();
      std::signal(received, SIG_DFL);
    });
  }
}

absl::Status Train(const TrainFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const std::vector<TrainRequest> requests,
                       MakeTrainRequests(flags.Choice(context)));
  for (const TrainRequest& request : requests) {
    LRA_RETURN_IF_ERROR(CheckRunDirectory(request));  // before hours of other seeds
    LRA_RETURN_IF_ERROR(
        CheckDataOfTask(request.runtime.data_dir(), request.resolved.config.task()));
  }
  const RuntimeConfig& runtime = requests.front().runtime;
  LRA_RETURN_IF_ERROR(StartRuntime(runtime.threads(), runtime.kernels()));
  ListenToSignals();
  nlohmann::json results = nlohmann::json::array();
  const absl::Status status = TrainSeries(
      requests, [&](const TrainRequest& request, const RunRecord& record) -> absl::Status {
        LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(record.spec()));
        const std::string& out = request.runtime.out_dir();
        if (!context.json) std::cout << Describe(*metric, record, out) << std::endl;
        results.push_back(ToJsonResult(*metric, record, out));
        return absl::OkStatus();
      });
  if (context.json && !results.empty()) std::cout << results.dump(2) << "\n";
  return status;
}

}  // namespace

void AddTrainCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command =
      AddCommand(app, "train", "Train, select, test and record one model, for one or more seeds");
  flags->Add(command, context);
  SetBody(command, context,
          "  lra train --task listops --attention linear --preset small --seeds 0-2\n"
          "  lra train --config configs/runs/quickstart.textproto --attention cosformer --resume",
          [flags, context] { return Train(*flags, *context); });
}

}  // namespace lra
