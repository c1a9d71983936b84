#include "run_folder/run_list.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/curve_values.h"
#include "eval/run_record.h"
#include "lra/json_text.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/text_columns.h"
#include "run_folder/run_claim.h"

namespace lra {
namespace {

using Line = std::vector<std::string>;

// The score that stands for a run so far.
struct ScoreSoFar {
  const Metric* metric = nullptr;
  double value = 0;
  std::string split;
};

std::optional<ScoreSoFar> ScoreOf(const RunFolder& folder) {
  const absl::StatusOr<const Metric*> metric = folder.metric();
  if (!metric.ok()) return std::nullopt;
  // An evaluation has its own result, of any split and checkpoint, and the curve is not of it.
  if (folder.record.has_later_look()) {
    if (folder.record.results().empty()) return std::nullopt;
    const SplitResult& result = folder.record.results(0);
    return ScoreSoFar{*metric, (*metric)->Value(result.sums()), result.split()};
  }
  for (const char* split : {"test", "validation"}) {
    if (const SplitResult* result = FindResult(folder.record, split))
      return ScoreSoFar{*metric, (*metric)->Value(result->sums()), split};
  }
  const CurvePoint* const best = BestPoint(folder.record, **metric);
  if (best == nullptr) return std::nullopt;
  return ScoreSoFar{*metric, *FindValue(best->validation(), (*metric)->name()), "validation"};
}

// "120 of 5,000"; empty for rows that are not trained here.
std::string StepText(const RunFolder& folder) {
  if (folder.total_steps() == 0 && folder.step() == 0) return "";
  return absl::StrCat(
      FormatCount(folder.step()),
      folder.total_steps() == 0 ? "" : absl::StrCat(" of ", FormatCount(folder.total_steps())));
}

std::string StateName(const ListedRun& run) {
  return run.state.empty() ? RunStateName(run.folder.state) : run.state;
}

std::string StateText(const ListedRun& run) {
  return absl::StrCat(StateName(run), run.folder.part.empty() ? "" : ", ", run.folder.part);
}

Line LineOf(const ListedRun& run) {
  const RunRecord& record = run.folder.record;
  const std::optional<ScoreSoFar> score = ScoreOf(run.folder);
  return {run.directory,
          record.config().task(),
          record.method(),
          record.config().protocol(),
          record.config().preset(),
          record.config().task().empty() ? "" : absl::StrCat(record.seed()),
          StepText(run.folder),
          StateText(run),
          score ? absl::StrCat(score->metric->Text(score->value), " (", score->split, ")") : ""};
}

nlohmann::ordered_json JsonOf(const ListedRun& run) {
  const RunFolder& folder = run.folder;
  const RunRecord& record = folder.record;
  nlohmann::ordered_json json = {{"run", run.directory}, {"state", StateName(run)}};
  if (!folder.part.empty()) json["part"] = folder.part;
  if (!record.config().task().empty()) {
    json["task"] = record.config().task();
    json["method"] = record.method();
    json["seed"] = record.seed();
  }
  if (!record.config().protocol().empty()) json["protocol"] = record.config().protocol();
  if (!record.config().preset().empty()) json["preset"] = record.config().preset();
  json["step"] = folder.step();
  json["steps"] = folder.total_steps();
  if (!folder.failure.empty()) json["failure"] = folder.failure;
  if (const std::optional<ScoreSoFar> score = ScoreOf(folder)) {
    json["metric"] = score->metric->name();
    json["value"] = score->value;
    json["split"] = score->split;
  }
  return json;
}

// The run that this folder is a part of, its pretraining or a trial of its search; else the folder.
std::string RunAbove(const std::string& directory) {
  std::filesystem::path path(directory);
  if (path.filename() == kPretrainFolder) path = path.parent_path();
  if (path.parent_path().filename() == kTrialsFolder) path = path.parent_path().parent_path();
  return path.empty() ? directory : path.string();
}

}  // namespace

absl::StatusOr<std::vector<ListedRun>> ListRuns(absl::Span<const std::string> paths,
                                                std::vector<std::string>* damaged) {
  LRA_ASSIGN_OR_RETURN(FoundRuns found, FindRunRecords(paths, Damaged::kSetAside));
  *damaged = std::move(found.damaged);
  std::vector<std::string> directories = found.unfinished;
  for (std::string& directory : directories) directory = RunAbove(directory);
  for (const LocatedRecord& run : found.runs) directories.push_back(run.directory);
  std::sort(directories.begin(), directories.end());
  directories.erase(std::unique(directories.begin(), directories.end()), directories.end());
  std::vector<ListedRun> runs;
  for (const std::string& directory : directories) {
    absl::StatusOr<RunFolder> folder = ReadActivePart(directory);
    if (absl::IsNotFound(folder.status())) folder = RunFolder();  // it has written nothing yet
    if (!folder.ok()) {
      damaged->push_back(std::string(folder.status().message()));
      continue;
    }
    const bool is_evaluation = folder->record.has_later_look();
    runs.push_back({directory, *std::move(folder), is_evaluation ? "evaluation" : ""});
  }
  return runs;
}

std::string RunListText(const std::vector<ListedRun>& runs) {
  std::vector<Line> lines = {
      {"run", "task", "method", "protocol", "preset", "seed", "step", "state", "score"}};
  for (const ListedRun& run : runs) lines.push_back(LineOf(run));
  return AlignedText(lines);
}

std::string RunListJson(const std::vector<ListedRun>& runs) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const ListedRun& run : runs) json.push_back(JsonOf(run));
  return JsonText(json) + "\n";
}

}  // namespace lra
