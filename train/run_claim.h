// The folder of a run, in the hands of one process.
#ifndef LRA_TRAIN_RUN_CLAIM_H_
#define LRA_TRAIN_RUN_CLAIM_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/files.h"

namespace lra {

// Folders of a run for the trials of a search and for pretraining.
inline constexpr char kTrialsFolder[] = "trials";
inline constexpr char kPretrainFolder[] = "pretrain";

// Whether there is something in the folder to go on with: a checkpoint, a record, trials or
// pretraining.
bool HoldsRun(absl::string_view run_dir);

class RunClaim {
 public:
  // Makes the folder, with those above it, and locks it. FailedPrecondition while another process
  // trains there.
  static absl::StatusOr<RunClaim> Take(const std::string& run_dir);
  RunClaim(RunClaim&& other) noexcept
      : run_dir_(std::exchange(other.run_dir_, "")),
        made_folders_(std::move(other.made_folders_)),
        made_lock_(other.made_lock_),
        lock_(std::move(other.lock_)) {}
  RunClaim& operator=(RunClaim&&) = delete;
  // A run that was refused before its first step leaves nothing that was not there before.
  ~RunClaim();

 private:
  RunClaim(std::string run_dir, std::vector<std::string> made_folders, bool made_lock,
           FileLock lock)
      : run_dir_(std::move(run_dir)),
        made_folders_(std::move(made_folders)),
        made_lock_(made_lock),
        lock_(std::move(lock)) {}
  std::string run_dir_;                    // empty when moved from
  std::vector<std::string> made_folders_;  // innermost first
  bool made_lock_;
  FileLock lock_;
};

}  // namespace lra

#endif  // LRA_TRAIN_RUN_CLAIM_H_
