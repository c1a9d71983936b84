// Talks to Slurm through its client commands: sbatch, squeue and, where accounts are kept, sacct.
#ifndef LRA_SUITE_SLURM_H_
#define LRA_SUITE_SLURM_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "suite/job_array.h"

namespace lra {

// Hands a script to sbatch; the number of the job. NotFound where there is no sbatch;
// FailedPrecondition with its words where it refuses.
absl::StatusOr<std::string> SubmitScript(const std::string& script, const ClusterOptions& options);

// An element that waits or runs.
struct QueuedElement {
  std::string job;     // "12"
  std::string state;   // "PENDING"
  std::string reason;  // why it waits; empty where Slurm has none
};

// By the name of the job and the element's number.
using Queue = std::map<std::pair<std::string, int>, QueuedElement>;

// What the queue holds of jobs with these names. NotFound where there is no squeue; Unavailable
// with its words where it fails.
absl::StatusOr<Queue> AskQueue(const std::vector<std::string>& job_names);

// How elements ("12_3") of these jobs ended, e.g. "TIMEOUT". Empty where the cluster keeps no
// accounts.
std::map<std::string, std::string> AskHistory(const std::vector<std::string>& jobs);

}  // namespace lra

#endif  // LRA_SUITE_SLURM_H_
