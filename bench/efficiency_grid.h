// Grids of `lra bench efficiency` by name, and what their words mean.
#ifndef LRA_BENCH_EFFICIENCY_GRID_H_
#define LRA_BENCH_EFFICIENCY_GRID_H_

#include <string>

#include "absl/status/statusor.h"
#include "bench/bench.pb.h"
#include "bench/grid.h"

namespace lra {

// What is measured where neither a named grid nor flags say.
EfficiencyGrid DefaultGrid();

// A file of configs/efficiency/, over its base where it has one. InvalidArgument names the known
// ones; the same for a base that has one itself.
absl::StatusOr<EfficiencyGrid> LoadEfficiencyGrid(const std::string& name);

// Fields that `given` sets replace those of `grid`; a batch or a number of tokens in a batch
// replaces both.
void OverrideGrid(const EfficiencyGrid& given, EfficiencyGrid* grid);

// The cells of a grid that has all but optional fields; threads, kernels, limit and budget are left
// to the caller. InvalidArgument for a word that is none.
absl::StatusOr<GridPlan> PlanOfGrid(const EfficiencyGrid& grid);

}  // namespace lra

#endif  // LRA_BENCH_EFFICIENCY_GRID_H_
