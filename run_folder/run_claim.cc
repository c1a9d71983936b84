#include "run_folder/run_claim.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
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

}  // namespace

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
  const std::string lock_path = JoinPath(run_dir, ".lock");
  std::vector<std::string> made_folders = MissingFolders(run_dir);
  LRA_RETURN_IF_ERROR(MakeDirectories(run_dir));
  const bool makes_lock = !FileExists(lock_path);
  absl::StatusOr<FileLock> lock = FileLock::Acquire(lock_path);
  if (!lock.ok()) {
    RemoveEmptyFolders(made_folders);
    absl::Status refused = Annotate(lock.status(), absl::StrCat("cannot train in ", run_dir));
    if (absl::IsFailedPrecondition(refused)) MarkAsInUse(&refused);
    return refused;
  }
  return RunClaim(run_dir, std::move(made_folders), makes_lock, *std::move(lock));
}

RunClaim::~RunClaim() {
  if (run_dir_.empty() || HoldsRun(run_dir_) || FileExists(JoinPath(run_dir_, kCurveFile))) return;
  if (made_lock_) lock_.RemoveFile();
  RemoveEmptyFolders(made_folders_);
}

}  // namespace lra
