#include "train/finish.h"

#include <algorithm>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "eval/curve_values.h"
#include "eval/data_identity.h"
#include "eval/evaluator.h"
#include "eval/machine.h"
#include "eval/run_record.h"
#include "eval/scorer.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"
#include "models/base/device_work.h"
#include "models/parameter_count.h"
#include "run_folder/checkpoint.h"
#include "run_folder/test_looks.h"
#include "train/data_notes.h"
#include "train/first_bad.h"
#include "train/interruption.h"
#include "train/label_objective.h"
#include "train/shared_run.h"
#include "train/stage_checkpoints.h"
#include "train/stretches.h"

namespace lra {
namespace {

// Fills the model and *state, and logs the look at the test split that follows.
absl::Status LoadForTest(const Run& run, const std::string& checkpoint, CheckpointState* state) {
  LRA_ASSIGN_OR_RETURN(*state, LoadCheckpointState(checkpoint));
  LRA_RETURN_IF_ERROR(LoadWeights(checkpoint, *state, run.model->parameters()));
  return LogTestLook(run.request.runtime.out_dir(), kTrainLook, state->step());
}

// Scores a split on a checkpoint, whose weights the model has. Outputs that are not finite are a
// divergence.
absl::StatusOr<SplitResult> ScoreAtEnd(const Run& run, const SplitView& split,
                                       const CheckpointState& state, const std::string& file,
                                       const std::string& checkpoint) {
  absl::StatusOr<SplitResult> result =
      ScoreAndStore(*run.model, split, state,
                    {.record_dir = run.request.runtime.out_dir(),
                     .predictions_path = file,
                     .checkpoint = checkpoint,
                     .limit_examples = run.config().evaluation().scored_examples(),
                     .half_logits = run.request.half_logits,
                     .quiet = run.request.runtime.quiet(),
                     .ranks = run.ranks});
  if (!IsNotFinite(result.status())) return result;
  return DivergedByOutput(LabelObjective(run), state,
                          Annotate(result.status(), absl::StrCat("scoring ", split.name())));
}

// Scores the splits on one checkpoint and appends the results to the record.
absl::Status ScoreCheckpoint(Run* run, const SplitView& test, int64_t step,
                             const std::string& suffix, RunRecord* record) {
  const std::string& out = run->request.runtime.out_dir();
  const std::string checkpoint = suffix.empty() ? kSelectedCheckpoint : kLastCheckpoint;
  CheckpointState state = run->state;
  LRA_RETURN_IF_ERROR(run->ranks->Agree(
      run->writes() ? LoadForTest(*run, CheckpointPath(out, step), &state) : absl::OkStatus()));
  LRA_RETURN_IF_ERROR(ShareWeights(run->ranks.get(), run->model->parameters()));
  const std::string warning = OneClassWarning(test, run->config().evaluation().scored_examples(),
                                              "evaluation.scored_examples");
  if (!warning.empty() && suffix.empty() && !test.spec().guesses_tokens()) {
    record->add_warning(warning);
    if (run->writes()) std::cerr << "warning: " << warning << "\n";
  }
  const SplitView* const splits[] = {&test, &run->validation};
  for (const SplitView* split : splits) {
    const std::string name = split == &test ? "predictions" : "predictions-validation";
    LRA_ASSIGN_OR_RETURN(
        *record->add_results(),
        ScoreAtEnd(*run, *split, state, absl::StrCat(name, suffix, ".npy"), checkpoint));
  }
  if (suffix.empty()) record->set_weights_sha256(state.weights_sha256());
  return absl::OkStatus();
}

absl::Status ScoreSelectedAndLast(Run* run, const SplitView& test, RunRecord* record) {
  const int64_t selected = SelectedStep(run->state), last = run->state.step();
  absl::Status status = ScoreCheckpoint(run, test, selected, "", record);
  if (status.ok() && selected != last && !run->request.skips_last_checkpoint)
    status = ScoreCheckpoint(run, test, last, "-last", record);
  if (!absl::IsCancelled(status)) return status;
  return absl::CancelledError(absl::StrCat(
      "stopped at step ", last, " of ", run->config().train().steps(), ", before it was scored (",
      status.message(), "); saved in ", run->request.runtime.out_dir(), "; --resume goes on"));
}

void AddEfficiency(const Run& run, RunRecord* record) {
  Efficiency& efficiency = *record->mutable_efficiency();
  efficiency = run.state.efficiency();
  RecordPeakMemory(run.model->parameters().device(), &efficiency);
  if (efficiency.wall_seconds() > 0) {
    efficiency.set_steps_per_second(run.state.step() / efficiency.wall_seconds());
    int64_t tokens = 0;
    for (const CurvePoint& point : run.state.curve()) tokens += point.tokens();
    efficiency.set_tokens_per_second(tokens / efficiency.wall_seconds());
  }
  record->set_finished_unix_seconds(UnixSeconds());
}

// Completes the record, writes it and returns it as it can be read.
absl::StatusOr<RunRecord> WriteResults(const Run& run, RunRecord record) {
  const std::string& out = run.request.runtime.out_dir();
  record.mutable_trials()->Assign(run.request.trials.begin(), run.request.trials.end());
  AddEfficiency(run, &record);
  LRA_RETURN_IF_ERROR(run.ConfirmClaim());
  LRA_RETURN_IF_ERROR(WriteRecordWithLooks(out, std::move(record)));
  return ReadRunRecord(out);
}

absl::StatusOr<SplitResult> Store(const Scored& scored, const SplitView& split,
                                  const CheckpointState& state, const ScoreRequest& request) {
  if (split.spec().guesses_tokens()) {
    return StoreScores(request.record_dir, {.split = split.name(),
                                            .file = request.predictions_path,
                                            .sums = &scored.sums,
                                            .examples = scored.examples,
                                            .spec = &state.spec(),
                                            .step = state.step(),
                                            .checkpoint = request.checkpoint});
  }
  return StorePredictions(request.record_dir, {.split = split.name(),
                                               .file = request.predictions_path,
                                               .logits = scored.logits,
                                               .labels = scored.labels,
                                               .spec = &state.spec(),
                                               .step = state.step(),
                                               .checkpoint = request.checkpoint,
                                               .half_logits = request.half_logits});
}

// Whether the folder of data still holds what the run was trained on: it may have been made anew
// while the run was under way, and its record would speak of the old examples.
absl::Status CheckDataStayed(const Run& run, const Manifest& manifest) {
  RunRecord started;
  *started.mutable_data() = run.state.data();
  return Annotate(CheckDataOfRun(started, manifest, run.config().view()),
                  absl::StrCat(run.request.runtime.data_dir(), ", at the end of training"));
}

}  // namespace

bool IsTrained(const CheckpointState& state) {
  return (state.step() >= state.config().train().steps() || state.stopped_at_step() > 0) &&
         !state.has_unvalidated();
}

int64_t SelectedStep(const CheckpointState& state) {
  const EvaluationConfig& evaluation = state.config().evaluation();
  switch (evaluation.selection()) {
    case EvaluationConfig::LAST:
      return state.step();
    case EvaluationConfig::FIXED_STEP:
      return evaluation.step();
    default:
      return state.best_step();
  }
}

double SelectedValidation(const CheckpointState& state) {
  const int64_t selected = SelectedStep(state);
  double value = 0;
  for (const CurvePoint& point : state.curve()) {
    if (point.step() > selected) break;
    value = FindValue(point.validation(), MetricName(state.spec())).value_or(value);
  }
  return value;
}

RunRecord RecordFromState(const CheckpointState& state, const ParameterStore& parameters) {
  RunRecord record;
  record.set_kind(RunRecord::MEASURED);
  record.set_method(MethodOf(state.config()));
  *record.mutable_config() = state.config();
  record.set_config_fingerprint(Fingerprint(state.config()));
  record.set_cell_fingerprint(CellFingerprint(state.config()));
  *record.mutable_data() = state.data();
  *record.mutable_spec() = state.spec();
  record.set_seed(state.config().seed());
  record.set_parameters(parameters.count());
  *record.mutable_curve() = state.curve();
  *record.mutable_provenance() = state.provenance();
  *record.mutable_changed_rule() = state.changed_rule();
  *record.mutable_warning() = state.warning();
  if (state.has_pretrain()) *record.mutable_pretrain() = state.pretrain();
  if (state.has_initial_encoder()) *record.mutable_initial_encoder() = state.initial_encoder();
  record.set_transformer_parameters(
      CountTransformerParameters(state.config(), state.spec()).value_or(0));
  record.set_selected_step(SelectedStep(state));
  record.set_selected_validation(SelectedValidation(state));
  record.set_stopped_at_step(state.stopped_at_step());
  RecordTrainers(state, DescribeTrainer(state.config(), parameters.device()), &record);
  return record;
}

EvaluatorOptions ScoringOptions(const ExperimentConfig& config, int64_t limit_examples) {
  return {.batch_examples = config.train().batch_examples(),
          .limit_examples = limit_examples,
          .drop_last = config.evaluation().drop_last(),
          .should_stop = StopRequested};
}

absl::StatusOr<SplitResult> ScoreAndStore(const Classifier& model, const SplitView& split,
                                          const CheckpointState& state,
                                          const ScoreRequest& request) {
  LRA_ASSIGN_OR_RETURN(const Metric* const metric, MetricOf(state.spec()));
  EvaluatorOptions options = ScoringOptions(state.config(), request.limit_examples);
  options.label = absl::StrCat("score ", split.name(), " (", request.checkpoint, ")");
  options.quiet = request.quiet;
  if (request.ranks != nullptr) ShareEvaluation(request.ranks, &options);
  LRA_ASSIGN_OR_RETURN(const Scored scored,
                       ScoreSplit(model, split, state.spec().classes(), *metric, options));
  if (request.ranks != nullptr && !request.ranks->is_first()) return SplitResult();
  LRA_ASSIGN_OR_RETURN(SplitResult result, Store(scored, split, state, request));
  const bool is_part = request.limit_examples > 0 && request.limit_examples < split.size();
  if (is_part) result.set_split_examples(split.size());
  return result;
}

absl::StatusOr<RunRecord> FinishRun(Run* run) {
  LRA_RETURN_IF_ERROR(run->ConfirmClaim());
  const RuntimeConfig& runtime = run->request.runtime;
  LRA_ASSIGN_OR_RETURN(const Dataset data,
                       Dataset::Open(runtime.data_dir(), {.splits = {"test"},
                                                          .view = &run->config().view(),
                                                          .threads = runtime.threads()}));
  LRA_RETURN_IF_ERROR(CheckDataStayed(*run, data.manifest()));
  LRA_ASSIGN_OR_RETURN(const SplitView test, SplitView::Create(data, "test", run->config().view()));
  RunRecord record = RecordFromState(run->state, run->model->parameters());
  LRA_RETURN_IF_ERROR(ScoreSelectedAndLast(run, test, &record));
  if (!run->writes()) return ShareRecord(run->ranks.get(), record);
  return ShareRecord(run->ranks.get(), WriteResults(*run, std::move(record)));
}

absl::StatusOr<RunRecord> RecordFailure(const Run& run, const RunFailure& failure) {
  RunRecord record = RecordFromState(run.state, run.model->parameters());
  *record.mutable_failure() = failure;
  record.clear_selected_step();
  record.clear_selected_validation();
  if (!run.writes()) return record;
  return WriteResults(run, std::move(record));
}

}  // namespace lra
