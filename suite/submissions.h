// The job arrays that were submitted for a folder, and what has become of their elements:
//
//   FOLDER/N.textproto   submission N (SlurmSubmission)
//   FOLDER/N.sh          its script
//   FOLDER/12_3.log      what element 3 of job 12 wrote
//   FOLDER/12_3.retries  a line each time that it began again because its command was killed
#ifndef LRA_SUITE_SUBMISSIONS_H_
#define LRA_SUITE_SUBMISSIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lra/files.h"
#include "suite/job_array.h"
#include "suite/slurm.h"
#include "suite/suite.pb.h"

namespace lra {

// What a folder's submissions say of an item; that of the newest counts.
struct ItemState {
  bool is_queued = false;    // it waits or runs
  std::string element;       // "12_3"
  std::string cluster;       // of its job, where Slurm named one
  std::string state;         // "PENDING"; empty where nobody knows how it ended
  std::string reason;        // of waiting
  bool left_no_log = false;  // it ended and wrote nothing: nodes may not see the folder
  int64_t memory_bytes = 0;  // that was asked for it; 0 = the cluster's default
  std::string log;           // where it wrote, if it ended
  // Its command while it is queued, with {item} for the item; empty where nobody wrote it down.
  std::vector<std::string> words;
  // Slurm ended it, or a process of it was killed, for want of memory.
  bool lacked_memory() const { return !is_queued && state == "OUT_OF_MEMORY"; }
};

// "Slurm job 12_3 pending (Resources)", "Slurm job 12_3 of cluster far running". Of one that ended
// it reads the last line of its log: "Slurm job 12_3 ended (FAILED): "no space" (/runs/12_3.log)".
std::string DescribeItem(const ItemState& item);

using ItemStates = std::map<std::string, ItemState>;

class Submissions {
 public:
  // To be held from Read() to the last Submit(): two processes at once would submit the same items,
  // both under one number. Makes the folder. FailedPrecondition while another process holds it;
  // empty where the file system has no locks.
  static absl::StatusOr<std::optional<FileLock>> Lock(const std::string& folder);

  // Those of the folder, which need not exist. The errors of reading a record.
  static absl::StatusOr<Submissions> Read(const std::string& folder);

  bool empty() const { return all_.empty(); }
  // The errors of AskQueue, of a cluster other than the own with the records that name it.
  absl::StatusOr<ItemStates> Items() const;
  // Jobs in the queue, for scancel; of states that Items() gave.
  static std::vector<SlurmJob> QueuedJobs(const std::vector<ItemState>& items);

  // Names the array, writes record and script, and submits it. array->folder is this folder. Where
  // sbatch fails the queue is asked whether it took the job all the same. Nothing is left where it
  // did not. The errors of SubmitScript; Unavailable, with the record left, where nobody knows.
  absl::StatusOr<SlurmJob> Submit(JobArray array, const ClusterOptions& options);
  // The array with a name such as Submit() would give it: of no other folder or time.
  JobArray Named(JobArray array) const;

 private:
  explicit Submissions(std::string folder) : folder_(std::move(folder)) {}
  int Next() const { return all_.empty() ? 1 : all_.rbegin()->first + 1; }
  std::string RecordPath(int number) const;
  // What is queued of all records, by the clusters that they name.
  absl::StatusOr<Queue> AskQueues() const;

  std::string folder_;
  std::map<int, SlurmSubmission> all_;
};

}  // namespace lra

#endif  // LRA_SUITE_SUBMISSIONS_H_
