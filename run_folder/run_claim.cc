#include "run_folder/run_claim.h"

#include <filesystem>
#include <iostream>
#include <system_error>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/data_root.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/curve.h"

namespace lra {
namespace {

constexpr char kInUsePayload[] = "lra/in-use";

// The folder and those above it that do not exist, innermost first.
std::vector<std::string> MissingFolders(const std::string& path) {
  std::vector<std::string> missing;
  std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // the path ends with "/"
  for (; !FileExists(folder.string()) && folder.has_relative_path(); folder = folder.parent_path())
    missing.push_back(folder.string());
  return missing;
}

// Removes the folders; stops at the first one that somebody else has put something into.
void RemoveEmptyFolders(const std::vector<std::string>& folders) {
  std::error_code not_empty;
  for (const std::string& folder : folders) {
    if (!std::filesystem::remove(folder, not_empty)) return;
  }
}

absl::StatusOr<std::unique_ptr<Lease>> TakeLease(const std::string& run_dir, bool is_locked_here) {
  LeaseOptions options;
  options.is_locked_here = is_locked_here;
  options.on_wait = [&](const std::string& holder) {
    std::cerr << "note: " << run_dir << " was last held by " << holder
              << "; waiting half a minute to see whether it lives\n";
  };
  return Lease::Take(LeasePath(run_dir), options);
}

}  // namespace

std::string LeasePath(const std::string& run_dir) { return JoinPath(run_dir, ".lease"); }

std::string TrialFolder(float learning_rate) {
  return absl::StrCat(kTrialsFolder, "/lr-", learning_rate);
}

bool HoldsRun(absl::string_view run_dir) {
  return !absl::IsNotFound(LatestCheckpoint(run_dir).status()) ||
         FileExists(JoinPath(run_dir, kRecordFile)) ||
         FileExists(JoinPath(run_dir, kTrialsFolder)) ||
         FileExists(JoinPath(run_dir, kPretrainFolder));
}

bool IsInUse(const absl::Status& status) { return status.GetPayload(kInUsePayload).has_value(); }

void MarkAsInUse(absl::Status* status) { status->SetPayload(kInUsePayload, absl::Cord()); }

absl::StatusOr<RunClaim> RunClaim::Take(const std::string& run_dir) {
  if (FileExists(JoinPath(run_dir, kManifestFile))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--out: \"", run_dir, "\" holds a data set; a run needs a folder of its own"));
  }
  const std::string lock_path = JoinPath(run_dir, ".lock");
  std::vector<std::string> made_folders = MissingFolders(run_dir);
  LRA_RETURN_IF_ERROR(MakeDirectories(run_dir));
  const bool makes_lock = !FileExists(lock_path);
  absl::StatusOr<FileLock> lock = FileLock::Acquire(lock_path);
  const bool has_locks = !absl::IsUnimplemented(lock.status());
  absl::Status refused = has_locks ? lock.status() : absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Lease>> lease;
  if (refused.ok()) {
    lease = TakeLease(run_dir, has_locks);
    refused = lease.status();
  }
  if (!refused.ok()) {
    if (lock.ok() && makes_lock) lock->RemoveFile();
    RemoveEmptyFolders(made_folders);
    refused = Annotate(refused, absl::StrCat("cannot train in ", run_dir));
    if (absl::IsFailedPrecondition(refused)) MarkAsInUse(&refused);
    return refused;
  }
  std::optional<FileLock> held;
  if (has_locks) held.emplace(*std::move(lock));
  return RunClaim(run_dir, std::move(made_folders), has_locks && makes_lock, std::move(held),
                  *std::move(lease));
}

absl::Status RunClaim::Confirm() const {
  absl::Status status = Annotate(lease_->Confirm(), absl::StrCat("training in ", run_dir_));
  if (!status.ok()) MarkAsInUse(&status);
  return status;
}

RunClaim::~RunClaim() {
  lease_.reset();
  if (run_dir_.empty() || HoldsRun(run_dir_) || FileExists(JoinPath(run_dir_, kCurveFile))) return;
  if (made_lock_ && lock_) lock_->RemoveFile();
  RemoveEmptyFolders(made_folders_);
}

}  // namespace lra
