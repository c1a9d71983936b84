#include "suite/suite_runs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "suite/cells.h"
#include "suite/state.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

// Before its first checkpoint a run's folder does not say what it is of.
void FillIn(const SuiteCell& cell, RunRecord* record) {
  if (!record->config().task().empty()) return;
  *record->mutable_config() = cell.config;
  record->set_method(MethodOf(cell.config));
  record->set_seed(cell.seed);
}

ListedRun RunOfCell(const std::string& folder, const SuiteCell& cell, const CellStatus& status) {
  ListedRun run{fs::path(RunDirectory(folder, cell)).lexically_normal().string(), status.folder,
                CellStateName(status.state)};
  FillIn(cell, &run.folder.record);
  if (status.state == CellState::kFailed) run.folder.failure = DescribeFailure(status.failure);
  return run;
}

// What waits is new; what failed takes the place of the folder that it left, if it left one; what
// else is there is told what it is.
absl::Status AddSuite(const std::string& folder, std::vector<ListedRun>* runs) {
  LRA_ASSIGN_OR_RETURN(const SuiteFile suite, SuiteOfFolder(folder));
  LRA_ASSIGN_OR_RETURN(const std::vector<SuiteCell> cells, ExpandSuite(suite));
  const std::vector<CellStatus> statuses = ReadStatuses(folder, cells);
  for (size_t i = 0; i < cells.size(); ++i) {
    const CellState state = statuses[i].state;
    const bool is_listed = state != CellState::kWaiting && state != CellState::kFailed;
    if (is_listed && !statuses[i].folder.record.config().task().empty()) continue;
    ListedRun run = RunOfCell(folder, cells[i], statuses[i]);
    const auto listed = std::find_if(runs->begin(), runs->end(), [&run](const ListedRun& other) {
      std::error_code ignored;
      return other.directory == run.directory ||
             fs::equivalent(other.directory, run.directory, ignored);
    });
    if (is_listed) {
      if (listed != runs->end()) FillIn(cells[i], &listed->folder.record);
    } else if (listed == runs->end()) {
      runs->push_back(std::move(run));
    } else {
      *listed = std::move(run);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ListedRun>> ListRunsAndSuites(absl::Span<const std::string> paths,
                                                         std::vector<std::string>* damaged) {
  const std::vector<std::string> suites = SuiteFoldersBelow(paths);
  absl::StatusOr<std::vector<ListedRun>> listed = ListRuns(paths, damaged);
  const bool are_there = std::all_of(paths.begin(), paths.end(), FileExists);
  // A suite of which no run has begun is something to list.
  const bool has_none = absl::IsNotFound(listed.status()) && are_there && !suites.empty();
  if (!listed.ok() && !has_none) return listed.status();
  std::vector<ListedRun> runs;
  if (listed.ok()) runs = *std::move(listed);
  for (const std::string& folder : suites) {
    const absl::Status added = AddSuite(folder, &runs);
    if (!added.ok())
      damaged->push_back(absl::StrCat(JoinPath(folder, kSuiteFile), ": ", added.message()));
  }
  std::sort(runs.begin(), runs.end(),
            [](const ListedRun& a, const ListedRun& b) { return a.directory < b.directory; });
  return runs;
}

}  // namespace lra
