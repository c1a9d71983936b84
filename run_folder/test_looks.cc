#include "run_folder/test_looks.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

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

// Others hold it for milliseconds, so it is worth to wait. Nothing where the file system has no
// locks.
absl::StatusOr<std::optional<FileLock>> LockLog(absl::string_view run_dir) {
  using std::chrono::milliseconds, std::chrono::seconds, std::chrono::steady_clock;
  constexpr seconds kPatience{10};
  constexpr milliseconds kRetry{20};
  const auto deadline = steady_clock::now() + kPatience;
  while (true) {
    absl::StatusOr<FileLock> lock = FileLock::Acquire(JoinPath(run_dir, ".test_looks.lock"));
    if (absl::IsUnimplemented(lock.status())) return std::nullopt;
    const bool is_held = absl::IsFailedPrecondition(lock.status());
    if (!is_held || steady_clock::now() >= deadline) {
      LRA_RETURN_IF_ERROR(lock.status());
      return *std::move(lock);
    }
    std::this_thread::sleep_for(kRetry);
  }
}

// While the log's lock is held, or there is none.
absl::Status WriteWith(absl::string_view run_dir, const std::vector<TestLook>& looks,
                       RunRecord record) {
  record.mutable_test_looks()->Assign(looks.begin(), looks.end());
  return WriteRunRecord(run_dir, record);
}

}  // namespace

absl::StatusOr<std::vector<TestLook>> TestLooks(absl::string_view run_dir) {
  if (!FileExists(LogPath(run_dir))) return std::vector<TestLook>();
  RunRecord log;
  LRA_RETURN_IF_ERROR(ReadSealedTextProto(LogPath(run_dir), &log));
  return std::vector<TestLook>(log.test_looks().begin(), log.test_looks().end());
}

absl::Status LogTestLook(absl::string_view run_dir, absl::string_view command, int64_t step,
                         absl::string_view weights_sha256) {
  LRA_ASSIGN_OR_RETURN(const std::optional<FileLock> lock, LockLog(run_dir));
  LRA_ASSIGN_OR_RETURN(std::vector<TestLook> looks, TestLooks(run_dir));
  const auto is_this = [&](const TestLook& look) {
    return look.command() == command && look.step() == step;
  };
  if (command == kTrainLook && std::any_of(looks.begin(), looks.end(), is_this))
    return absl::OkStatus();
  TestLook& look = looks.emplace_back();
  look.set_command(std::string(command));
  look.set_step(step);
  look.set_weights_sha256(std::string(weights_sha256));
  look.set_unix_seconds(UnixSeconds());
  LRA_RETURN_IF_ERROR(WriteLog(run_dir, looks));
  if (!FileExists(JoinPath(run_dir, kRecordFile))) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(RunRecord record, ReadRunRecord(run_dir));
  return WriteWith(run_dir, looks, std::move(record));
}

absl::Status WriteRecordWithLooks(absl::string_view run_dir, RunRecord record) {
  LRA_RETURN_IF_ERROR(MakeDirectories(run_dir));
  LRA_ASSIGN_OR_RETURN(const std::optional<FileLock> lock, LockLog(run_dir));
  LRA_ASSIGN_OR_RETURN(const std::vector<TestLook> looks, TestLooks(run_dir));
  return WriteWith(run_dir, looks, std::move(record));
}

}  // namespace lra
