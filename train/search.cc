#include "train/search.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "datasets/manifest.h"
#include "eval/metric.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/divergence.h"
#include "run_folder/run_claim.h"
#include "train/finish.h"
#include "train/shared_run.h"
#include "train/trainer.h"

namespace lra {
namespace {

constexpr char kCheckpoints[] = "checkpoint";

std::string TrialDirectory(const TrainRequest& request, float rate) {
  return JoinPath(request.runtime.out_dir(), TrialFolder(rate));
}

TrainRequest WithRate(const TrainRequest& request, float rate) {
  TrainRequest changed = request;
  changed.resolved.config.mutable_schedule()->set_learning_rate(rate);
  changed.resolved.provenance["schedule.learning_rate"] = "search";
  // Whether the run may be gone on with was asked of the run as a whole.
  changed.resume = true;
  return changed;
}

Trial Outcome(float rate, const CheckpointState& state) {
  Trial trial;
  trial.set_learning_rate(rate);
  trial.set_selected_step(SelectedStep(state));
  trial.set_validation(SelectedValidation(state));
  return trial;
}

Trial Lost(float rate) {
  Trial trial;
  trial.set_learning_rate(rate);
  trial.set_selected_step(-1);
  return trial;
}

absl::StatusOr<Trial> RunTrial(const TrainRequest& request, float rate) {
  TrainRequest trial = WithRate(request, rate);
  trial.runtime.set_out_dir(TrialDirectory(request, rate));
  const absl::StatusOr<CheckpointState> state = TrainToEnd(trial);
  if (HasDiverged(state.status())) {
    std::cerr << "trial with learning rate " << rate << " is lost: " << state.status().message()
              << "\n";
    return Lost(rate);
  }
  LRA_RETURN_IF_ERROR(Annotate(state.status(), absl::StrCat("trial with learning rate ", rate)));
  return Outcome(rate, *state);
}

void Report(const Metric& metric, const Trial& trial, int number, int budget) {
  const std::string outcome =
      trial.selected_step() < 0
          ? "lost"
          : absl::StrCat("validation ", metric.name(), " ", metric.Text(trial.validation()));
  std::cerr << absl::StrFormat("trial %d of %d: learning rate %g: %s\n", number, budget,
                               trial.learning_rate(), outcome);
}

absl::StatusOr<std::vector<Trial>> RunTrials(const TrainRequest& request, const Metric& metric) {
  // Claims the run as a whole; each trial claims its own folder.
  LRA_ASSIGN_OR_RETURN(const RunClaim claim, RunClaim::Take(request.runtime.out_dir()));
  const SearchConfig& search = request.resolved.config.search();
  std::vector<Trial> trials;
  for (int i = 0; i < search.budget_trials(); ++i) {
    LRA_ASSIGN_OR_RETURN(const Trial trial, RunTrial(request, search.learning_rate(i)));
    if (!request.runtime.quiet()) Report(metric, trial, i + 1, search.budget_trials());
    trials.push_back(trial);
  }
  return trials;
}

// Index of the best one that did not diverge; the earlier of equals.
std::optional<int> Best(const Metric& metric, const std::vector<Trial>& trials) {
  std::optional<int> best;
  for (int i = 0; i < static_cast<int>(trials.size()); ++i) {
    if (trials[i].selected_step() < 0) continue;
    if (!best || metric.Better(trials[i].validation(), trials[*best].validation())) best = i;
  }
  return best;
}

// The winner's checkpoints appear in the run's folder whole or not at all.
absl::Status CopyCheckpoints(const std::string& from, const std::string& to) {
  const std::string target = JoinPath(to, kCheckpoints);
  LRA_ASSIGN_OR_RETURN(StagingDirectory staging, StagingDirectory::Create(target));
  std::error_code error;
  std::filesystem::copy(
      JoinPath(from, kCheckpoints), staging.path(),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing,
      error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("copying ", from, "/", kCheckpoints, " to ", target, ": ", error.message()));
  }
  return staging.Commit();
}

absl::StatusOr<RunRecord> TestWinner(const TrainRequest& request, float rate,
                                     const std::vector<Trial>& trials) {
  const std::string& out = request.runtime.out_dir();
  TrainRequest winner = WithRate(request, rate);
  winner.trials = trials;
  // Else an earlier process came as far as this, and this one resumes it.
  winner.is_same_process = !FileExists(JoinPath(out, kCheckpoints));
  if (winner.is_same_process)
    LRA_RETURN_IF_ERROR(CopyCheckpoints(TrialDirectory(request, rate), out));
  return TrainAndTest(winner);
}

// The record of a search without a winner, of which no checkpoint is the run's.
absl::Status RecordLost(const TrainRequest& request, const std::vector<Trial>& trials) {
  RunFailure failure;
  failure.set_kind(RunFailure::DIVERGED);
  failure.set_cause(absl::StrCat("all ", trials.size(),
                                 " trials of the search diverged; try lower search.learning_rate "
                                 "values"));
  TrainRequest lost = request;
  lost.trials = trials;
  lost.resume = true;
  lost.is_same_process = true;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Run> run, OpenRun(lost));
  LRA_RETURN_IF_ERROR(RecordFailure(*run, failure).status());
  return DivergedError(failure);
}

}  // namespace

absl::StatusOr<RunRecord> SearchRun(const TrainRequest& request) {
  if (request.ranks != nullptr) LRA_RETURN_IF_ERROR(CheckShareable(request, *request.ranks));
  LRA_RETURN_IF_ERROR(CheckRunDirectory(request));
  if (FileExists(JoinPath(request.runtime.out_dir(), kRecordFile))) {
    const absl::Status outcome = ReadOutcome(request.runtime.out_dir()).status();
    if (HasDiverged(outcome)) return outcome;  // resumed
  }
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(request.runtime.data_dir()));
  LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(manifest.spec()));
  LRA_ASSIGN_OR_RETURN(std::vector<Trial> trials, RunTrials(request, *metric));
  const std::optional<int> best = Best(*metric, trials);
  if (!best) return RecordLost(request, trials);
  trials[*best].set_is_selected(true);
  return TestWinner(request, request.resolved.config.search().learning_rate(*best), trials);
}

}  // namespace lra
