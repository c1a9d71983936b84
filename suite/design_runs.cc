#include "suite/design_runs.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "eval/starting_run.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// What two runs were scored unlike in; null where in nothing.
const char* ScoredUnlikeIn(const TrainedRun& a, const TrainedRun& b) {
  if (a.metric->name() != b.metric->name()) return "the metric";
  if (a.examples_fingerprint != b.examples_fingerprint) return "the fingerprint of the examples";
  return a.scores->size() != b.scores->size() ? "the number of examples" : nullptr;
}

// What was trained and what came of it; not the curve, which is long and decides no effect.
std::string FingerprintOf(const RunRecord& record) {
  RunRecord known;
  *known.mutable_config() = record.config();
  *known.mutable_results() = record.results();
  if (record.has_failure()) *known.mutable_failure() = record.failure();
  return Fingerprint(known);
}

}  // namespace

DesignRun RunFinder::Find(const SuiteCell& run) const {
  // Without "./", which FindRunRecords() leaves out.
  const std::string directory =
      std::filesystem::path(RunDirectory(folder_, run)).lexically_normal().string();
  const CellStatus status = ReadCellStatus(folder_, run);
  const auto found = runs_.by_directory.find(directory);
  if (HasEnded(status) && found != runs_.by_directory.end())
    return {run.seed, directory, &found->second, "", status.state};
  return {run.seed, directory, nullptr, WhyMissing(directory, status), status.state};
}

std::string RunFinder::WhyMissing(const std::string& directory, const CellStatus& status) const {
  if (status.state == CellState::kFailed) return absl::StrCat("failed: ", status.failure.message());
  if (status.state != CellState::kFinished) return CellStateName(status.state);
  for (const std::string& reason : runs_.left_out) {
    absl::string_view rest = reason;
    if (absl::ConsumePrefix(&rest, directory + ": ")) return std::string(rest);
  }
  return "its record was not found";
}

absl::StatusOr<GridCell> ReadCell(const SuiteFile& suite_of_cell, const RunFinder& finder) {
  LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> runs, ExpandSuite(suite_of_cell));
  GridCell cell;
  for (const SuiteCell& run : runs) cell.push_back(finder.Find(run));
  return cell;
}

std::string MissingText(const GridCell& cell) {
  std::vector<std::string> gaps;
  for (const DesignRun& run : cell) {
    if (run.ended == nullptr)
      gaps.push_back(absl::StrCat("seed ", run.seed, " (", run.why_missing, ")"));
  }
  return absl::StrJoin(gaps, ", ");
}

absl::Status LikeScores::Check(const DesignRun& one) {
  const TrainedRun* const run = one.scored();
  if (run == nullptr) return absl::OkStatus();
  if (run->scores == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(one.directory, ": scores of examples are not on record, which effects need"));
  }
  if (first_.scored() == nullptr) {
    first_ = one;
    metric_ = run->metric;
  }
  if (const char* const what = ScoredUnlikeIn(*run, *first_.scored())) {
    return absl::FailedPreconditionError(
        absl::StrCat(one.directory, " and ", first_.directory,
                     " were not scored alike, so they cannot be compared: ", what, " differs"));
  }
  metric_ = &MetricOfAll({metric_, run->metric});
  return absl::OkStatus();
}

void AddCell(const GridCell& cell, AblationTask* task) {
  task->seeds.clear();
  std::vector<ExampleValues>& scores = task->runs.emplace_back();
  std::vector<AblationRun>& folders = task->folders.emplace_back();
  for (const DesignRun& one : cell) {
    const TrainedRun* const run = one.scored();
    task->seeds.push_back(one.seed);
    scores.push_back(run != nullptr && run->has_trained ? *run->scores : ExampleValues());
    AblationRun& folder = folders.emplace_back();
    folder.directory = one.directory;
    if (run == nullptr) continue;
    task->block_examples = run->block_examples;
    folder.fingerprint = FingerprintOf(*run->record);
    folder.curve = run->record->curve();
    folder.pretrain_steps = run->record->pretrain().steps();
    if (!run->unjudged.empty()) task->unjudged = run->unjudged;
    if (std::string start = StartingRunOf(*run->record); !start.empty())
      task->starts.insert(std::move(start));
  }
}

}  // namespace lra
