// The runs of a designed ablation, as they are found in its suite's folder: from cells of the grid
// to what effects are computed from (AblationTask).
#ifndef LRA_SUITE_DESIGN_RUNS_H_
#define LRA_SUITE_DESIGN_RUNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eval/ablation.h"
#include "eval/trained_runs.h"
#include "suite/cells.h"
#include "suite/state.h"

namespace lra {

// One run of a design, that is a cell of its grid with one seed, as it was found.
struct DesignRun {
  uint32_t seed = 0;
  std::string directory;              // as records name it
  const TrainedRun* ended = nullptr;  // null: it is missing
  std::string why_missing{};          // "waiting", "failed: no space left on device"
  CellState state = CellState::kWaiting;

  // Null of a run that is missing or diverged, which there are no scores of.
  const TrainedRun* scored() const {
    return ended == nullptr || ended->has_diverged ? nullptr : ended;
  }
};
using GridCell = std::vector<DesignRun>;  // a run for each seed of the group

// Finds the runs of a suite's folder among those that were read. Both must outlive it.
class RunFinder {
 public:
  RunFinder(const std::string& folder, const TrainedRuns& runs) : folder_(folder), runs_(runs) {}
  DesignRun Find(const SuiteCell& run) const;

 private:
  std::string WhyMissing(const std::string& directory, const CellStatus& status) const;

  const std::string& folder_;
  const TrainedRuns& runs_;
};

// The runs of a suite that has one cell. The errors of ExpandSuite.
absl::StatusOr<GridCell> ReadCell(const SuiteFile& suite_of_cell, const RunFinder& finder);

// "seed 1 (waiting), seed 2 (failed: no space left on device)"; empty where no run is missing.
std::string MissingText(const GridCell& cell);

// Sees to it that the runs of a task were scored alike: cells are compared example by example.
class LikeScores {
 public:
  // FailedPrecondition where the run has no scores of examples, or was scored unlike the first one.
  // A run that is missing or diverged is passed over.
  absl::Status Check(const DesignRun& one);
  // The metric of all; null before the first run with scores.
  const Metric* metric() const { return metric_; }

 private:
  DesignRun first_;
  const Metric* metric_ = nullptr;
};

// Adds the next cell of the grid: its scores, and what is known of its runs. All cells of a task
// have the same seeds.
void AddCell(const GridCell& cell, AblationTask* task);

}  // namespace lra

#endif  // LRA_SUITE_DESIGN_RUNS_H_
