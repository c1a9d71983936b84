// Claims the folder of a run for one process.
#ifndef LRA_RUN_FOLDER_RUN_CLAIM_H_
#define LRA_RUN_FOLDER_RUN_CLAIM_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/files.h"
#include "lra/lease.h"

namespace lra {

// Folders inside a run's folder for the trials of a search and for pretraining.
inline constexpr char kTrialsFolder[] = "trials";
inline constexpr char kPretrainFolder[] = "pretrain";

// The folder of a trial relative to the run's, e.g. "trials/lr-0.001".
std::string TrialFolder(float learning_rate);

// The lease of a run's folder (lra/lease.h).
std::string LeasePath(const std::string& run_dir);

// Whether the folder holds something to continue from: a checkpoint, a record, trials or
// pretraining.
bool HoldsRun(absl::string_view run_dir);

// Whether a claim was refused because another process has the folder, if only to look at it: what
// was refused may be tried again.
bool IsInUse(const absl::Status& status);
// Makes an error one of these.
void MarkAsInUse(absl::Status* status);

// The exit code of `lra train` then: that of BSD's EX_TEMPFAIL.
inline constexpr int kInUseExitCode = 75;

class RunClaim {
 public:
  // Makes the folder, and missing ones above it, locks it for processes of this machine and leases
  // it for those of others. InvalidArgument for the folder of a data set. FailedPrecondition, with
  // IsInUse(), while another process trains there. Where one of another machine did and may be
  // dead, waits half a minute to see.
  static absl::StatusOr<RunClaim> Take(const std::string& run_dir);
  RunClaim(RunClaim&& other) noexcept
      : run_dir_(std::exchange(other.run_dir_, "")),
        made_folders_(std::move(other.made_folders_)),
        made_lock_(other.made_lock_),
        lock_(std::move(other.lock_)),
        lease_(std::move(other.lease_)) {}
  RunClaim& operator=(RunClaim&&) = delete;
  // If the run was refused before its first step, removes everything that was not there before.
  ~RunClaim();

  // Aborted, with IsInUse(), where a process of another machine took the folder over because this
  // one was silent too long: nothing may be written there any more.
  absl::Status Confirm() const;

 private:
  RunClaim(std::string run_dir, std::vector<std::string> made_folders, bool made_lock,
           std::optional<FileLock> lock, std::unique_ptr<Lease> lease)
      : run_dir_(std::move(run_dir)),
        made_folders_(std::move(made_folders)),
        made_lock_(made_lock),
        lock_(std::move(lock)),
        lease_(std::move(lease)) {}
  std::string run_dir_;                    // empty after a move
  std::vector<std::string> made_folders_;  // innermost first
  bool made_lock_;
  std::optional<FileLock> lock_;  // absent where the file system has none
  std::unique_ptr<Lease> lease_;
};

}  // namespace lra

#endif  // LRA_RUN_FOLDER_RUN_CLAIM_H_
