#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/suite_command.h"
#include "cli/terminal.h"
#include "eval/curve_plot.h"
#include "eval/curve_values.h"
#include "eval/pretrain_text.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "run_folder/run_folder.h"
#include "suite/state.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

struct WatchFlags {
  std::vector<std::string> runs;
  FollowFlags follow;
};

// Curves are drawn of so many running ones at most: more do not fit on a screen.
constexpr int kMostPictures = 2;

// "running: trial 2 of 3, learning rate 0.001: step 120 of 5,000  ETA of training 3 min 20 s  best
// validation 34.00 % at step 100  last point 4.2 s ago"
std::string StateLine(const RunFolder& run, const Metric& metric) {
  std::string line = absl::StrCat(RunStateName(run.state), ": ", run.part,
                                  run.part.empty() ? "" : ": ", "step ", FormatCount(run.step()));
  if (run.total_steps() > 0) absl::StrAppend(&line, " of ", FormatCount(run.total_steps()));
  if (run.is_scoring()) absl::StrAppend(&line, ", being scored");
  if (run.eta_seconds() && run.state == RunState::kRunning) {
    absl::StrAppend(&line, "  ETA of training ", FormatSeconds(*run.eta_seconds()));
  }
  if (const CurvePoint* best = BestPoint(run.record, metric)) {
    absl::StrAppend(&line, "  best validation ",
                    metric.Text(*FindValue(best->validation(), metric.name())), " at step ",
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

bool IsOver(const RunFolder& run) {
  return run.state == RunState::kFinished || run.state == RunState::kDiverged;
}

struct Watched {
  std::vector<std::string> runs;  // folders; those of a suite are the ones that have begun
  bool has_more = false;          // whether a suite has runs that are left to train
};

absl::StatusOr<Watched> RunsOf(const WatchFlags& flags) {
  Watched watched;
  for (const std::string& name : flags.runs) {
    LRA_ASSIGN_OR_RETURN(const std::string folder, SuiteFolder(name));
    const absl::StatusOr<SuiteFile> suite = SuiteOfFolder(folder);
    if (absl::IsNotFound(suite.status())) {
      watched.runs.push_back(folder);
      continue;
    }
    LRA_RETURN_IF_ERROR(suite.status());
    LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(*suite));
    for (const SuiteCell& cell : cells) {
      const std::string run = RunDirectory(folder, cell);
      if (!absl::IsNotFound(ReadActivePart(run).status())) watched.runs.push_back(run);
      watched.has_more =
          watched.has_more || IsLeft(ReadCellStatus(folder, cell), /*retries_failed=*/false);
    }
  }
  return watched;
}

absl::Status DrawOne(const std::string& path, const RunFolder& run, bool with_picture) {
  LRA_ASSIGN_OR_RETURN(const Metric* const metric, run.metric());
  std::cout << path << "\n";
  if (with_picture) {
    std::cout << "\n" << PlotRun(run.record, *metric, TerminalColumns(), WantsUnicode()) << "\n";
  }
  std::cout << (with_picture ? "" : "  ") << StateLine(run, *metric) << "\n";
  return absl::OkStatus();
}

// Whether there is more to come. Of several runs one that cannot be read hides no other; its error
// is returned when the others have ended.
absl::StatusOr<bool> Draw(const WatchFlags& flags) {
  LRA_ASSIGN_OR_RETURN(const Watched watched, RunsOf(flags));
  const bool is_alone = flags.runs.size() == 1 && watched.runs == flags.runs;
  if (watched.runs.empty()) std::cout << "no run has begun\n";
  bool goes_on = watched.runs.empty() || watched.has_more;
  int pictures = 0;
  absl::Status damaged;
  for (const std::string& path : watched.runs) {
    const absl::StatusOr<RunFolder> run = ReadActivePart(path);
    if (!run.ok()) {
      if (!is_alone) std::cout << path << "\n  " << run.status().message() << "\n";
      damaged.Update(run.status());
      continue;
    }
    goes_on |= is_alone ? !IsOver(*run) : run->state == RunState::kRunning;
    const bool with_picture =
        is_alone || (run->state == RunState::kRunning && ++pictures <= kMostPictures);
    LRA_RETURN_IF_ERROR(DrawOne(path, *run, with_picture));
  }
  if (!goes_on) LRA_RETURN_IF_ERROR(damaged);
  return goes_on;
}

absl::Status PrintAsJson(const WatchFlags& flags) {
  LRA_ASSIGN_OR_RETURN(const Watched watched, RunsOf(flags));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  absl::Status damaged;
  for (const std::string& path : watched.runs) {
    const absl::StatusOr<RunFolder> run = ReadActivePart(path);
    damaged.Update(run.status());
    if (!run.ok()) continue;
    LRA_ASSIGN_OR_RETURN(const Metric* const metric, run->metric());
    all.push_back(ToJsonResult(path, *run, *metric));
  }
  const bool is_alone = watched.runs.size() == 1 && watched.runs == flags.runs;
  if (!is_alone) PrintJson(all);
  if (is_alone && damaged.ok()) PrintJson(all.front());
  return damaged;
}

absl::Status Watch(const WatchFlags& flags, const CommandContext& context) {
  if (context.json) return PrintAsJson(flags);
  return Follow(flags.follow, [&] { return Draw(flags); });
}

}  // namespace

void AddWatchCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<WatchFlags>();
  CLI::App* command = AddCommand(
      app, "watch", "Draw the curves of runs in the terminal; on a terminal until they end");
  AddOption(command, "runs", &flags->runs,
            "Run folders, or suites (their folders, or their names: runs/SUITE)",
            {.is_required = true});
  AddSwitch(command, "--once", &flags->follow.once, "Draw once (always so when not on a terminal)");
  AddEvery(command, &flags->follow);
  SetBody(command, context,
          "  lra watch runs/listops-linear-small-s0\n"
          "  lra watch runs/listops-linear-small-s0 --once\n"
          "  lra watch runs/listops-linear-small-s0 --json\n"
          "  lra watch listops_smoke",
          [flags, context] { return Watch(*flags, *context); });
}

}  // namespace lra
