#include "bench/grid_progress.h"

#include <set>
#include <vector>

#include "bench/efficiency_grid.h"
#include "bench/record_file.h"
#include "lra/files.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// What is measured, without how it was.
std::string CellKey(const BenchRecord& record) {
  BenchRecord key;
  *key.mutable_request() = record.request();
  key.set_regime(record.regime());
  BenchRequest* request = key.mutable_request();
  request->clear_threads();
  request->clear_kernels();
  request->clear_budget_bytes();
  return KeyOf(key);
}

}  // namespace

absl::StatusOr<GridProgress> ProgressOfGrid(const std::string& grid, const std::string& records) {
  LRA_ASSIGN_OR_RETURN(const EfficiencyGrid named, LoadEfficiencyGrid(grid));
  EfficiencyGrid whole = DefaultGrid();
  OverrideGrid(named, &whole);
  LRA_ASSIGN_OR_RETURN(const GridPlan plan, PlanOfGrid(whole));
  std::vector<BenchRecord> kept;
  if (FileExists(records)) {
    LRA_ASSIGN_OR_RETURN(kept, ReadRecordFile(records));
  }
  std::set<std::string> there;
  for (const BenchRecord& record : kept) {
    if (record.result().outcome() != BenchResult::FAILED) there.insert(CellKey(record));
  }
  GridProgress progress;
  for (const BenchRecord& cell : ExpandGrid(plan)) {
    ++progress.cells;
    progress.measured += static_cast<int>(there.count(CellKey(cell)));
  }
  return progress;
}

}  // namespace lra
