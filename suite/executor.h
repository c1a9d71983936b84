// Where the runs of a suite are trained: by processes of this machine, or by a cluster.
#ifndef LRA_SUITE_EXECUTOR_H_
#define LRA_SUITE_EXECUTOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "suite/job_array.h"
#include "suite/run_suite.h"

namespace lra {

class Executor {
 public:
  virtual ~Executor() = default;
  // ResourceExhausted where there is not enough of something for the planned runs.
  virtual absl::Status CheckResources(const PlannedSuite& planned) const = 0;
  // What Train() would do beside what the plan says: text, or a JSON array. Empty = nothing.
  virtual absl::StatusOr<std::string> Preview(const PlannedSuite& planned, bool as_json) = 0;
  // Has what is left trained; the runs have ended when it returns, or are queued. The folder is
  // claimed (ClaimSuiteFolder).
  virtual absl::Status Train(const PlannedSuite& planned) = 0;
  // How far the runs are, and which are queued.
  virtual absl::StatusOr<std::vector<CellStatus>> Statuses(const std::vector<SuiteCell>& cells) = 0;
};

std::unique_ptr<Executor> PoolExecutor(const SuiteRunOptions& options);

// Submits job arrays of runs of about equal length and memory, the shorter ones first, with
// `environment` set for their elements. What is queued already is not submitted again. Train()
// fails with the errors of Submissions and of CheckLogFolder, and InvalidArgument where a run's
// length is neither known nor given.
struct SlurmExecutorOptions {
  ClusterOptions cluster;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> run_flags;  // further flags of the elements' `lra run`
};
std::unique_ptr<Executor> SlurmExecutor(const SuiteRunOptions& options,
                                        const SlurmExecutorOptions& slurm);

// "OUT/slurm"
std::string SlurmFolder(const std::string& out);

// Adds what Slurm says of the runs, where arrays were submitted for the folder. The errors of
// Submissions.
absl::Status AddSlurmStates(const std::string& out, const std::vector<SuiteCell>& cells,
                            std::vector<CellStatus>* statuses);

// How to cancel what is queued: a line, or nothing.
std::string QueueText(const std::vector<CellStatus>& statuses);

}  // namespace lra

#endif  // LRA_SUITE_EXECUTOR_H_
