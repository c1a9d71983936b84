#include "run_folder/run_folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "eval/run_record.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/held_lock.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/curve.h"
#include "run_folder/divergence.h"
#include "run_folder/run_claim.h"

namespace lra {
namespace {

std::optional<double> AgeSeconds(const std::string& file) {
  std::error_code failed;
  const auto written = std::filesystem::last_write_time(file, failed);
  if (failed) return std::nullopt;
  const auto now = std::filesystem::file_time_type::clock::now();
  return std::max(0.0, std::chrono::duration<double>(now - written).count());
}

RunState StateOf(const std::string& unfinished) {
  return IsTraining(unfinished) ? RunState::kRunning : RunState::kStopped;
}

// Adds what the newest checkpoint of an unfinished run says; without a checkpoint, nothing.
absl::Status AddCheckpoint(const std::string& path, RunFolder* folder) {
  RunRecord* const record = &folder->record;
  const absl::StatusOr<std::string> latest = LatestCheckpoint(path);
  if (absl::IsNotFound(latest.status())) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(latest.status());
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckpointState(*latest));
  folder->checkpoint_step = state.step();
  record->set_kind(RunRecord::MEASURED);
  record->set_method(MethodOf(state.config()));
  record->set_seed(state.config().seed());
  *record->mutable_config() = state.config();
  *record->mutable_data() = state.data();
  *record->mutable_spec() = state.spec();
  *record->mutable_provenance() = state.provenance();
  *record->mutable_efficiency() = state.efficiency();
  if (state.has_pretrain()) *record->mutable_pretrain() = state.pretrain();
  if (state.has_failure()) *record->mutable_failure() = state.failure();
  if (state.efficiency().wall_seconds() > 0) {
    record->mutable_efficiency()->set_steps_per_second(static_cast<double>(state.step()) /
                                                       state.efficiency().wall_seconds());
  }
  return absl::OkStatus();
}

// The failure that an older version left as a message beside the checkpoint.
absl::Status AddOldFailure(const std::string& run_dir, RunFolder* folder) {
  const std::string path = JoinPath(run_dir, kOldFailureFile);
  if (folder->record.has_failure() || !FileExists(path)) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const std::string message, ReadFile(path));
  RunFailure& failure = *folder->record.mutable_failure();
  failure.set_kind(RunFailure::DIVERGED);
  failure.set_step(folder->step());
  failure.set_cause(std::string(absl::StripAsciiWhitespace(message)));
  return absl::OkStatus();
}

// Whether the run ended by a failure, of which the record says the cause.
void NoteFailure(RunFolder* folder) {
  if (!folder->record.has_failure() || folder->state == RunState::kRunning) return;
  folder->state = RunState::kDiverged;
  folder->failure = folder->record.failure().cause();
}

// --- Trials ---

// Whether the trial is being trained, and the file time of its newest point; the greatest of these
// pairs belongs to the trial to show.
std::pair<bool, std::filesystem::file_time_type> Activity(const std::string& trial) {
  auto newest = std::filesystem::file_time_type::min();
  for (const std::string& folder : {trial, JoinPath(trial, kPretrainFolder)}) {
    std::error_code failed;
    const auto written = std::filesystem::last_write_time(JoinPath(folder, kCurveFile), failed);
    if (!failed) newest = std::max(newest, written);
  }
  return {IsTraining(trial), newest};
}

// Folders of the trials so far, in the order of training.
std::vector<std::string> Trials(const std::string& run) {
  std::vector<std::pair<decltype(Activity(run)), std::string>> trials;
  std::error_code ignored;
  std::filesystem::directory_iterator entry(JoinPath(run, kTrialsFolder), ignored);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored))
    trials.emplace_back(Activity(entry->path().string()), entry->path().string());
  std::sort(trials.begin(), trials.end());
  std::vector<std::string> paths;
  for (const auto& [activity, path] : trials) paths.push_back(path);
  return paths;
}

// The search's settings, known as soon as a trial has a checkpoint.
SearchConfig SearchOf(const std::vector<std::string>& trials) {
  for (const std::string& trial : trials) {
    const absl::StatusOr<std::string> latest = LatestCheckpoint(trial);
    if (!latest.ok()) continue;
    const absl::StatusOr<CheckpointState> state = LoadCheckpointState(*latest);
    if (state.ok()) return state->config().search();
  }
  return SearchConfig();
}

// Returns e.g. "trial 2 of 3, learning rate 0.001"; before the first checkpoint, "trial 1, learning
// rate 0.001".
std::string DescribeTrial(const std::vector<std::string>& trials) {
  const std::string name = std::filesystem::path(trials.back()).filename().string();
  std::string number = absl::StrCat(trials.size());
  const SearchConfig search = SearchOf(trials);
  for (int i = 0; i < search.learning_rate_size(); ++i) {
    if (std::filesystem::path(TrialFolder(search.learning_rate(i))).filename() == name)
      number = absl::StrCat(i + 1, " of ", search.budget_trials());
  }
  return absl::StrCat("trial ", number, ", learning rate ", absl::StripPrefix(name, "lr-"));
}

absl::StatusOr<RunFolder> ReadTrial(const std::string& run) {
  const std::vector<std::string> trials = Trials(run);
  if (trials.empty()) return ReadRunFolder(run);
  absl::StatusOr<RunFolder> trial = ReadActivePart(trials.back());
  if (absl::IsNotFound(trial.status())) trial = RunFolder();  // it has written nothing yet
  LRA_RETURN_IF_ERROR(trial.status());
  // The search holds the lock all the time. One lost trial does not end it.
  trial->state = StateOf(run);
  trial->part = absl::StrCat(DescribeTrial(trials), trial->part.empty() ? "" : ", ", trial->part);
  return trial;
}

// Whether the folder may be that of a run's pretraining. A run may be called so, too; it has a
// record or a stage of its own, or pretrains nothing.
bool IsCalledAsAStage(const std::string& path) {
  const std::filesystem::path named = std::filesystem::path(path).lexically_normal();
  // A trailing slash leaves an empty last part.
  return (named.has_filename() ? named : named.parent_path()).filename() == kPretrainFolder &&
         !FileExists(JoinPath(path, kRecordFile)) && !FileExists(JoinPath(path, kPretrainFolder));
}

// The folder of a stage, as a part of the run.
RunFolder AsPretraining(RunFolder stage, const std::string& run) {
  stage.part = "pretraining";
  stage.is_pretraining = true;
  // A stage has no lock of its own, and has ended where labels have begun.
  if (FileExists(JoinPath(run, kCurveFile)))
    stage.state = RunState::kFinished;
  else if (stage.state != RunState::kDiverged || IsTraining(run))
    stage.state = StateOf(run);
  return stage;
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
    case RunState::kDiverged:
      return "diverged";
  }
  return "";
}

int64_t RunFolder::step() const {
  if (record.has_later_look() && !record.results().empty()) return record.results(0).step();
  const int64_t last_point =
      record.curve().empty() ? 0 : record.curve(record.curve_size() - 1).step();
  return std::max<int64_t>(last_point, checkpoint_step);
}

std::optional<double> RunFolder::eta_seconds() const {
  const double rate = record.efficiency().steps_per_second();
  const bool is_over = state == RunState::kFinished || state == RunState::kDiverged;
  if (is_over || is_scoring() || rate <= 0 || total_steps() == 0) return std::nullopt;
  return static_cast<double>(total_steps() - step()) / rate;
}

bool IsTraining(const std::string& path) {
  const absl::StatusOr<bool> is_locked = IsLockHeld(JoinPath(path, ".lock"));
  return is_locked.value_or(false) ||
         Lease::SeemsHeld(LeasePath(path),
                          /*counts_this_system=*/absl::IsUnimplemented(is_locked.status()));
}

absl::StatusOr<RunFolder> ReadRunFolder(const std::string& path) {
  if (!FileExists(path)) return absl::NotFoundError(absl::StrCat(path, ": no such run folder"));
  RunFolder folder;
  folder.last_point_age_seconds = AgeSeconds(JoinPath(path, kCurveFile));
  if (FileExists(JoinPath(path, kRecordFile))) {
    LRA_ASSIGN_OR_RETURN(folder.record, ReadRunRecord(path));
    folder.state = RunState::kFinished;
    NoteFailure(&folder);
    return folder;
  }
  absl::StatusOr<std::vector<CurvePoint>> curve = ReadCurve(path);
  if (absl::IsNotFound(curve.status())) {
    return absl::NotFoundError(
        absl::StrCat(path, ": holds neither ", kCurveFile, " nor ", kRecordFile,
                     "; give the folder of a run, as `lra train --out` made it"));
  }
  LRA_RETURN_IF_ERROR(curve.status());
  folder.state = StateOf(path);
  LRA_RETURN_IF_ERROR(AddCheckpoint(path, &folder));
  folder.record.mutable_curve()->Assign(curve->begin(), curve->end());
  if (curve->empty()) folder.last_point_age_seconds.reset();
  LRA_RETURN_IF_ERROR(AddOldFailure(path, &folder));
  NoteFailure(&folder);
  return folder;
}

absl::StatusOr<RunFolder> ReadActivePart(const std::string& path) {
  const std::string pretrain = JoinPath(path, kPretrainFolder);
  const bool has_pretraining = FileExists(JoinPath(pretrain, kCurveFile));
  if (FileExists(JoinPath(path, kCurveFile))) {
    LRA_ASSIGN_OR_RETURN(RunFolder folder, ReadRunFolder(path));
    const bool is_stage = IsCalledAsAStage(path) && folder.record.config().has_pretrain();
    return is_stage ? AsPretraining(std::move(folder), JoinPath(path, "..")) : std::move(folder);
  }
  // A record without a curve is that of a failure before the first step with labels.
  if (FileExists(JoinPath(path, kRecordFile)) && !has_pretraining) return ReadRunFolder(path);
  if (FileExists(JoinPath(path, kTrialsFolder))) return ReadTrial(path);
  if (!has_pretraining) return ReadRunFolder(path);
  LRA_ASSIGN_OR_RETURN(RunFolder stage, ReadRunFolder(pretrain));
  return AsPretraining(std::move(stage), path);
}

}  // namespace lra
