#include "run_folder/test_looks.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "eval/machine.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

// The log is a RunRecord with nothing but test_looks.
std::string LogPath(absl::string_view run_dir) { return JoinPath(run_dir, "test_looks.textproto"); }

absl::Status WriteLog(absl::string_view run_dir, const std::vector<TestLook>& looks) {
  RunRecord log;
  log.mutable_test_looks()->Assign(looks.begin(), looks.end());
  return WriteSealedTextProto(LogPath(run_dir), log);
}

// Others hold it for milliseconds, so it is worth to wait.
absl::StatusOr<FileLock> LockLog(absl::string_view run_dir) {
  using std::chrono::milliseconds, std::chrono::seconds, std::chrono::steady_clock;
  constexpr seconds kPatience{10};
  constexpr milliseconds kRetry{20};
  const auto deadline = steady_clock::now() + kPatience;
  while (true) {
    absl::StatusOr<FileLock> lock = FileLock::Acquire(JoinPath(run_dir, ".test_looks.lock"));
    if (!absl::IsFailedPrecondition(lock.status()) || steady_clock::now() >= deadline) return lock;
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

absl::StatusOr<std::vector<TestLook>> TestLooks(absl::string_view run_dir) {
  if (!FileExists(LogPath(run_dir))) return std::vector<TestLook>();
  RunRecord log;
  LRA_RETURN_IF_ERROR(ReadSealedTextProto(LogPath(run_dir), &log));
  return std::vector<TestLook>(log.test_looks().begin(), log.test_looks().end());
}

absl::Status LogTestLook(absl::string_view run_dir, absl::string_view command, int64_t step) {
  const absl::StatusOr<FileLock> lock = LockLog(run_dir);
  if (!absl::IsUnimplemented(lock.status())) LRA_RETURN_IF_ERROR(lock.status());
  LRA_ASSIGN_OR_RETURN(std::vector<TestLook> looks, TestLooks(run_dir));
  const auto is_this = [&](const TestLook& look) {
    return look.command() == command && look.step() == step;
  };
  if (command == kTrainLook && std::any_of(looks.begin(), looks.end(), is_this))
    return absl::OkStatus();
  TestLook& look = looks.emplace_back();
  look.set_command(std::string(command));
  look.set_step(step);
  look.set_unix_seconds(UnixSeconds());
  LRA_RETURN_IF_ERROR(WriteLog(run_dir, looks));
  if (!FileExists(JoinPath(run_dir, kRecordFile))) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(RunRecord record, ReadRunRecord(run_dir));
  record.mutable_test_looks()->Assign(looks.begin(), looks.end());
  return WriteRunRecord(run_dir, record);
}

}  // namespace lra
