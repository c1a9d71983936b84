#include "train/run_folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "train/checkpoint.h"
#include "train/curve.h"

namespace lra {
namespace {

// The lock is asked for and given back at once.
bool IsLocked(const std::string& path) {
  const std::string lock = JoinPath(path, ".lock");
  return FileExists(lock) && absl::IsFailedPrecondition(FileLock::Acquire(lock).status());
}

std::optional<double> AgeSeconds(const std::string& file) {
  std::error_code failed;
  const auto written = std::filesystem::last_write_time(file, failed);
  if (failed) return std::nullopt;
  const auto now = std::filesystem::file_time_type::clock::now();
  return std::max(0.0, std::chrono::duration<double>(now - written).count());
}

// Of an unfinished run: nothing where it has no checkpoint yet.
absl::Status AddCheckpoint(const std::string& path, RunRecord* record) {
  const absl::StatusOr<std::string> latest = LatestCheckpoint(path);
  if (absl::IsNotFound(latest.status())) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(latest.status());
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckpointState(*latest));
  record->set_kind(RunRecord::MEASURED);
  record->set_method(state.config().attention().name());
  record->set_seed(state.config().seed());
  *record->mutable_config() = state.config();
  *record->mutable_data() = state.data();
  *record->mutable_spec() = state.spec();
  *record->mutable_provenance() = state.provenance();
  *record->mutable_efficiency() = state.efficiency();
  if (state.efficiency().wall_seconds() > 0) {
    record->mutable_efficiency()->set_steps_per_second(static_cast<double>(state.step()) /
                                                       state.efficiency().wall_seconds());
  }
  return absl::OkStatus();
}

}  // namespace

const char* RunStateName(RunState state) {
  switch (state) {
    case RunState::kFinished:
      return "finished";
    case RunState::kRunning:
      return "running";
    case RunState::kStopped:
      return "stopped";
  }
  return "";
}

int64_t RunFolder::step() const {
  return record.curve().empty() ? 0 : record.curve(record.curve_size() - 1).step();
}

std::optional<double> RunFolder::eta_seconds() const {
  const double rate = record.efficiency().steps_per_second();
  if (state == RunState::kFinished || rate <= 0 || total_steps() == 0) return std::nullopt;
  return static_cast<double>(total_steps() - step()) / rate;
}

absl::StatusOr<RunFolder> ReadRunFolder(const std::string& path) {
  if (!FileExists(path)) return absl::NotFoundError(absl::StrCat(path, ": no such run folder"));
  RunFolder folder;
  const std::string curve_path = JoinPath(path, kCurveFile);
  folder.last_point_age_seconds = AgeSeconds(curve_path);
  if (FileExists(JoinPath(path, kRecordFile))) {
    LRA_ASSIGN_OR_RETURN(folder.record, ReadRunRecord(path));
    folder.state = RunState::kFinished;
    return folder;
  }
  absl::StatusOr<std::vector<CurvePoint>> curve = ReadCurve(path);
  if (absl::IsNotFound(curve.status())) {
    return absl::NotFoundError(
        absl::StrCat(path, ": holds neither ", kCurveFile, " nor ", kRecordFile,
                     "; give the folder of a run, as `lra train --out` made it"));
  }
  LRA_RETURN_IF_ERROR(curve.status());
  folder.state = IsLocked(path) ? RunState::kRunning : RunState::kStopped;
  LRA_RETURN_IF_ERROR(AddCheckpoint(path, &folder.record));
  folder.record.mutable_curve()->Assign(curve->begin(), curve->end());
  if (curve->empty()) folder.last_point_age_seconds.reset();
  return folder;
}

}  // namespace lra
