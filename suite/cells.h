// The runs of a suite.
#ifndef LRA_SUITE_CELLS_H_
#define LRA_SUITE_CELLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "eval/run_record.pb.h"
#include "lra/experiment.h"
#include "lra/part.h"
#include "suite/suite.pb.h"

namespace lra {

// One run: a cell of the table with one seed.
struct SuiteCell {
  ExperimentChoice choice;
  uint32_t seed = 0;
  std::string name;  // ExperimentName(): unlike configurations have unlike names
  ExperimentConfig config;
  // The run whose encoder it starts from, where its configuration says that it does.
  std::string init_from{};
  // The data that it is to be trained on (DataOfRun); empty where that is not known.
  DataIdentity data{};
};

// Every run once: all runs of the lowest seed first, so that a suite that is stopped has whole
// comparisons; within a seed in the file's order. InvalidArgument names the group and what is wrong
// with it: no task, no attention, settings that no configuration has, methods with
// unequal searches. The errors of EachRunOnce.
absl::StatusOr<std::vector<SuiteCell>> ExpandSuite(const SuiteFile& suite);

// The first of the cells that have one name, which groups may share. InvalidArgument, which says
// what both are made of, where two of one name are unlike configurations: it would be one folder.
absl::StatusOr<std::vector<SuiteCell>> EachRunOnce(std::vector<SuiteCell> all);

// The name of all runs of a cell: the run's without its seed.
std::string CellName(const SuiteCell& cell);

// The runs of one part. Seed by seed, the costliest run goes to the part with the least so far.
// `costs` (of each run, in any unit, >= 0) must not depend on the machine, so that all machines
// part alike.
std::vector<SuiteCell> ShardOf(const std::vector<SuiteCell>& cells,
                               const std::vector<double>& costs, const Part& part);

}  // namespace lra

#endif  // LRA_SUITE_CELLS_H_
