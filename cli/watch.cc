#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "eval/curve_plot.h"
#include "eval/curve_values.h"
#include "eval/pretrain_text.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "run_folder/run_folder.h"

namespace lra {
namespace {

struct WatchFlags {
  std::string run;
  bool once = false;
  double every_seconds = 2;
};

int TerminalColumns() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// By the locale's variables in their order of precedence; NO_COLOR asks for plain output.
bool WantsUnicode() {
  if (!Environment("NO_COLOR").empty()) return false;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = Environment(name);
    if (value.empty()) continue;
    return absl::EndsWithIgnoreCase(value, "UTF-8") || absl::EndsWithIgnoreCase(value, "UTF8");
  }
  return false;
}

// "running: trial 2 of 3, learning rate 0.001: step 120 of 5,000  ETA 3 min 20 s  best validation
// 34.0 % at step 100  last point 4.2 s ago"
std::string StateLine(const RunFolder& run, const Metric& metric) {
  std::string line = absl::StrCat(RunStateName(run.state), ": ", run.part,
                                  run.part.empty() ? "" : ": ", "step ", FormatCount(run.step()));
  if (run.total_steps() > 0) absl::StrAppend(&line, " of ", FormatCount(run.total_steps()));
  if (run.eta_seconds() && run.state == RunState::kRunning) {
    absl::StrAppend(&line, "  ETA ", FormatSeconds(*run.eta_seconds()));
  }
  if (const CurvePoint* best = BestPoint(run.record, metric)) {
    absl::StrAppend(&line, "  best validation ",
                    metric.Text(*FindValue(best->validation(), metric.name()), -1), " at step ",
                    FormatCount(best->step()));
  }
  if (run.is_pretraining) absl::StrAppend(&line, DescribeReference(run.record.pretrain()));
  const bool is_over = run.state == RunState::kFinished || run.state == RunState::kDiverged;
  if (run.last_point_age_seconds && !is_over) {
    absl::StrAppend(&line, "  last point ", FormatSeconds(*run.last_point_age_seconds), " ago");
  }
  if (!run.failure.empty()) absl::StrAppend(&line, "\n", run.failure);
  return line;
}

nlohmann::ordered_json ToJsonResult(const std::string& path, const RunFolder& run,
                                    const Metric& metric) {
  nlohmann::ordered_json json = {{"run", path},
                                 {"state", RunStateName(run.state)},
                                 {"step", run.step()},
                                 {"steps", run.total_steps()}};
  if (!run.part.empty()) json["part"] = run.part;
  if (!run.failure.empty()) json["failure"] = run.failure;
  if (run.eta_seconds()) json["eta_seconds"] = *run.eta_seconds();
  if (run.last_point_age_seconds) json["last_point_age_seconds"] = *run.last_point_age_seconds;
  if (const CurvePoint* best = BestPoint(run.record, metric)) {
    json[absl::StrCat("best_validation_", metric.name())] =
        *FindValue(best->validation(), metric.name());
    json["best_step"] = best->step();
  }
  if (run.record.curve_size() > 0) {
    const CurvePoint& last = run.record.curve(run.record.curve_size() - 1);
    json["train_loss"] = last.train_loss();
    if (const std::optional<double> value = FindValue(last.train(), metric.name()))
      json[absl::StrCat("train_", metric.name())] = *value;
  }
  return json;
}

absl::Status Watch(const WatchFlags& flags, const CommandContext& context) {
  const bool follow = !flags.once && !context.json && isatty(STDOUT_FILENO);
  while (true) {
    LRA_ASSIGN_OR_RETURN(const RunFolder run, ReadActivePart(flags.run));
    LRA_ASSIGN_OR_RETURN(const Metric* const metric, run.metric());
    if (context.json) {
      PrintJson(ToJsonResult(flags.run, run, *metric));
      return absl::OkStatus();
    }
    if (follow) std::cout << "\033[H\033[2J";  // the picture before this one
    std::cout << flags.run << "\n\n"
              << PlotRun(run.record, *metric, TerminalColumns(), WantsUnicode()) << "\n"
              << StateLine(run, *metric) << std::endl;
    const bool is_over = run.state == RunState::kFinished || run.state == RunState::kDiverged;
    if (!follow || is_over) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.every_seconds));
  }
}

}  // namespace

void AddWatchCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<WatchFlags>();
  CLI::App* command = AddCommand(
      app, "watch", "Draw a run's curves in the terminal; on a terminal until the run ends");
  AddOption(command, "run", &flags->run, "Run folder", {.is_required = true});
  AddSwitch(command, "--once", &flags->once, "Draw once (always so when not on a terminal)");
  AddOption(command, "--every", &flags->every_seconds, "Seconds between two drawings",
            {.shows_default = true, .allowed = FlagRules::kRange, .least = 0.1, .largest = 3600});
  SetBody(command, context,
          "  lra watch runs/listops-linear-small-s0\n"
          "  lra watch runs/listops-linear-small-s0 --once\n"
          "  lra watch runs/listops-linear-small-s0 --json",
          [flags, context] { return Watch(*flags, *context); });
}

}  // namespace lra
