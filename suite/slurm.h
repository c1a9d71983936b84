// Talks to Slurm through its client commands: sbatch, squeue and, where accounts are kept, sacct.
#ifndef LRA_SUITE_SLURM_H_
#define LRA_SUITE_SLURM_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "suite/job_array.h"

namespace lra {

struct SlurmJob {
  std::string number;   // "12"
  std::string cluster;  // that sbatch named as one of several; empty = its own
};

// "Slurm job 12", "Slurm job 12_3 of cluster far": a job by its number, or an element of one.
std::string DescribeJob(absl::string_view number, absl::string_view cluster);

// In their order.
std::vector<std::string> NumbersOf(const std::vector<SlurmJob>& jobs);

// For a shell: "scancel 12 13; scancel --clusters=far 12"
std::string CancelCommand(const std::vector<SlurmJob>& jobs);

// Hands a script to sbatch, with these arguments and without these variables (names as in
// ChildCommand). NotFound where there is no sbatch; FailedPrecondition with its words where it
// refuses or names no job, of which it may have taken one all the same.
absl::StatusOr<SlurmJob> SubmitScript(const std::string& script,
                                      const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& without);

// An element that waits or runs.
struct QueuedElement {
  SlurmJob job;
  std::string state;   // "PENDING"
  std::string reason;  // why it waits; empty where Slurm has none
};

// By the name of the job and the element's number.
using Queue = std::map<std::pair<std::string, int>, QueuedElement>;

// What the cluster's queue holds of jobs with these names. NotFound where there is no squeue;
// Unavailable with its words where it fails.
absl::StatusOr<Queue> AskQueue(const std::vector<std::string>& job_names,
                               const std::string& cluster);

// How elements ended, e.g. "TIMEOUT", by cluster and element ("12_3").
using History = std::map<std::pair<std::string, std::string>, std::string>;

// Those of these jobs; none of a cluster that keeps no accounts.
History AskHistory(const std::vector<SlurmJob>& jobs);

}  // namespace lra

#endif  // LRA_SUITE_SLURM_H_
