#include "run_folder/find_checkpoint.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/pretrain_budget.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/checkpoint_files.h"

namespace lra {
namespace {

// Whether a file begins as weights do: eight bytes, the length of a header, then its JSON.
bool BeginsAsWeights(const std::string& path) {
  constexpr std::streamsize kBytes = 9;
  char begin[kBytes];
  std::ifstream file(path, std::ios::binary);
  return file.read(begin, kBytes).gcount() == kBytes && begin[kBytes - 1] == '{';
}

// What a record is of, if not of a run; empty if it is.
std::string WhatIsNoRun(const RunRecord& record) {
  if (record.kind() == RunRecord::EXTERNAL) return "predictions of other code";
  if (record.kind() == RunRecord::BASELINE) return "a baseline";
  return record.has_later_look() ? "an evaluation" : "";
}

// Why a folder of pretraining is not what labels began from.
std::string WhyUnfit(const std::string& checkpoint, const CheckpointState& state) {
  if (state.step() < PretrainSteps(state.config())) return "is pretraining that is unfinished";
  const std::string run =
      std::filesystem::path(RunOf(std::filesystem::absolute(checkpoint))).parent_path();
  return LatestCheckpoint(run).ok() ? "" : "is pretraining from which no labels were learned yet";
}

}  // namespace

std::string DescribeUnselected(const std::string& path, const std::string& checkpoint) {
  if (IsWeightsFile(path) || !FileExists(JoinPath(path, kCheckpointFolder))) return "";
  const absl::StatusOr<CheckpointState> state = LoadCheckpointState(checkpoint);
  if (!state.ok()) return "";
  const bool is_stage = state->config().has_pretrain() && state->pretrain().steps() == 0;
  std::string why = is_stage ? WhyUnfit(checkpoint, *state) : "is unfinished";
  if (FileExists(JoinPath(path, kRecordFile))) {
    const absl::StatusOr<RunRecord> record = ReadRunRecord(path);
    why = record.ok() && record->has_failure() ? "diverged" : "";
  }
  if (why.empty()) return "";
  const int64_t steps = is_stage ? PretrainSteps(state->config()) : state->config().train().steps();
  return absl::StrCat(path, " ", why, ": its newest checkpoint, step ", state->step(), " of ",
                      steps, ", is taken");
}

std::string RunOf(const std::string& checkpoint) {
  if (IsWeightsFile(checkpoint))
    return std::filesystem::absolute(checkpoint).lexically_normal().parent_path().string();
  return std::filesystem::path(checkpoint).lexically_normal().parent_path().parent_path().string();
}

absl::StatusOr<std::string> FindCheckpoint(const std::string& path) {
  if (!FileExists(path))
    return absl::NotFoundError(absl::StrCat(path, ": no such checkpoint or run folder"));
  if (IsWeightsFile(path)) {
    // A weights file inside its checkpoint folder is checked like the folder.
    const std::string folder = std::filesystem::absolute(path).parent_path().string();
    if (FileExists(JoinPath(folder, kStateFile))) return FindCheckpoint(folder);
    if (BeginsAsWeights(path)) return path;
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is no run and no weights file (safetensors); give the folder of a run"));
  }
  if (FileExists(JoinPath(path, kRecordFile))) {
    LRA_ASSIGN_OR_RETURN(const RunRecord record, ReadRunRecord(path));
    if (const std::string what = WhatIsNoRun(record); !what.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": holds ", what, " (", record.method(),
                       "), which has no checkpoint; give the folder of a run of `lra train`"));
    }
    // A run that diverged has no selected step; what it left is the state before the failure.
    return record.has_failure() ? LatestCheckpoint(path)
                                : CheckpointPath(path, record.selected_step());
  }
  if (!FileExists(JoinPath(path, kStateFile))) return LatestCheckpoint(path);
  return AbsolutePath(path);
}

}  // namespace lra
