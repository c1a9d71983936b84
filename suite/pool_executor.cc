// Trains a suite by processes of this machine.
#include <iostream>
#include <limits>
#include <memory>
#include <string>

#include "lra/status_macros.h"
#include "suite/executor.h"
#include "suite/plan.h"
#include "suite/pool.h"
#include "suite/run_suite.h"

namespace lra {
namespace {

class ByPool : public Executor {
 public:
  explicit ByPool(const SuiteRunOptions& options) : options_(options) {}

  absl::Status CheckResources(const PlannedSuite& planned) const override {
    LRA_RETURN_IF_ERROR(planned.fits_memory);
    return planned.fits_disk;
  }

  absl::StatusOr<std::string> Preview(const PlannedSuite&, bool) override { return ""; }

  absl::Status Train(const PlannedSuite& planned) override {
    if (!options_.is_quiet) std::cerr << TotalText(planned.plan) << "\n";
    PoolOptions pool;
    pool.out = options_.out;
    pool.workers = planned.plan.workers;
    pool.deadline = options_.deadline;
    pool.retries_failed = options_.retries_failed;
    pool.is_quiet = options_.is_quiet;
    pool.at_once = options_.at_once;
    pool.device = DeviceKind(options_);
    pool.pinning = options_.pinning;
    pool.command = [&](const std::vector<const SuiteCell*>& cells, int worker) {
      return TrainManyCommand(options_.program, options_.out, cells, options_.threads,
                              FlagsOfWorker(options_, worker));
    };
    for (const RunPlan& run : planned.plan.runs) {
      pool.seconds_left.push_back(run.cost ? run.seconds_left()
                                           : std::numeric_limits<double>::infinity());
    }
    return RunCells(planned.cells, pool);
  }

  absl::StatusOr<std::vector<CellStatus>> Statuses(const std::vector<SuiteCell>& cells) override {
    return ReadStatuses(options_.out, cells);
  }

 private:
  const SuiteRunOptions options_;
};

}  // namespace

std::unique_ptr<Executor> PoolExecutor(const SuiteRunOptions& options) {
  return std::make_unique<ByPool>(options);
}

}  // namespace lra
