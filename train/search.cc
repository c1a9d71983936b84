#include "train/search.h"

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "datasets/manifest.h"
#include "datasets/split_rule.h"
#include "eval/data_identity.h"
#include "eval/metric.h"
#include "eval/run_record.h"
#include "lra/copy_folder.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/checkpoint_files.h"
#include "run_folder/divergence.h"
#include "run_folder/run_claim.h"
#include "train/finish.h"
#include "train/shared_run.h"
#include "train/trainer.h"

namespace lra {
namespace {

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

struct Searched {
  std::vector<Trial> trials;
  std::optional<int> best;  // nullopt where all trials are lost
  // Whether this process put the winner's checkpoints into the run's folder.
  bool is_copied_here = false;
};

// Runs the trials and copies the checkpoints of the best one. All this time the run as a whole is
// claimed; each trial claims its own folder. Who takes the folder between this and the test of the
// winner finds all that it needs to go on.
absl::StatusOr<Searched> Search(const TrainRequest& request, const Metric& metric) {
  const std::string& out = request.runtime.out_dir();
  LRA_ASSIGN_OR_RETURN(const RunClaim claim, RunClaim::Take(out));
  Searched searched;
  LRA_ASSIGN_OR_RETURN(searched.trials, RunTrials(request, metric));
  searched.best = Best(metric, searched.trials);
  const std::string target = JoinPath(out, kCheckpointFolder);
  if (!searched.best || FileExists(target)) return searched;
  const float rate = request.resolved.config.search().learning_rate(*searched.best);
  LRA_RETURN_IF_ERROR(claim.Confirm());
  LRA_RETURN_IF_ERROR(
      CopyFolder(JoinPath(TrialDirectory(request, rate), kCheckpointFolder), target));
  searched.is_copied_here = true;
  return searched;
}

absl::StatusOr<RunRecord> TestWinner(const TrainRequest& request, const Searched& searched) {
  TrainRequest winner =
      WithRate(request, request.resolved.config.search().learning_rate(*searched.best));
  winner.trials = searched.trials;
  winner.trials[*searched.best].set_is_selected(true);
  // Else an earlier process came as far as this, and this one resumes it.
  winner.is_same_process = searched.is_copied_here;
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

// The record of a search that has ended before, whatever is left of its trials; nullopt if it has
// not. The error of one whose record says that it diverged.
absl::StatusOr<std::optional<RunRecord>> EndedBefore(const TrainRequest& request,
                                                     const Manifest& data) {
  const std::string& out = request.runtime.out_dir();
  if (!FileExists(JoinPath(out, kRecordFile))) return std::nullopt;
  LRA_ASSIGN_OR_RETURN(RunRecord record, ReadRunRecord(out));
  ExperimentConfig config = request.resolved.config;
  // That of the winner, if there was one.
  config.mutable_schedule()->set_learning_rate(record.config().schedule().learning_rate());
  LRA_RETURN_IF_ERROR(ResolveSplitRule(data, config.view()).status());
  LRA_RETURN_IF_ERROR(CheckSameRecord(config, IdentifyData(data, config.view()), record, out));
  if (record.has_failure()) return DivergedError(record.failure());
  return record;
}

}  // namespace

absl::StatusOr<RunRecord> SearchRun(const TrainRequest& request) {
  if (request.ranks != nullptr) LRA_RETURN_IF_ERROR(CheckShareable(request, *request.ranks));
  LRA_RETURN_IF_ERROR(CheckRunDirectory(request));
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(request.runtime.data_dir()));
  LRA_ASSIGN_OR_RETURN(std::optional<RunRecord> ended, EndedBefore(request, manifest));
  if (ended) return *std::move(ended);
  LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(manifest.spec()));
  LRA_ASSIGN_OR_RETURN(const Searched searched, Search(request, *metric));
  if (!searched.best) return RecordLost(request, searched.trials);
  return TestWinner(request, searched);
}

}  // namespace lra
