#include "inspect/evaluate.h"

#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "eval/data_identity.h"
#include "eval/later_look.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"
#include "run_folder/checkpoint.h"
#include "run_folder/curve.h"
#include "run_folder/test_looks.h"
#include "train/finish.h"

namespace lra {
namespace {

// The default is a folder inside the run's folder; for a lone weights file, a folder beside it that
// bears its name. Data that is not the run's own puts its fingerprint behind.
std::string DefaultDirectory(const std::string& checkpoint, const OpenedCheckpoint& opened,
                             const std::string& split, const DataIdentity& data) {
  const std::string name =
      IsWeightsFile(checkpoint) ? std::filesystem::path(checkpoint).stem().string() + "-" : "";
  const std::string other =
      IsDataOfRun(opened, split)
          ? ""
          : absl::StrCat("-data-", ShortFingerprint(data.split_fingerprint().at(split)));
  const std::string length =
      opened.trained_max_length_tokens > 0
          ? absl::StrCat("-length-", opened.state.config().view().max_length_tokens())
          : "";
  return JoinPath(RunOf(checkpoint), absl::StrCat("evaluations/", name, split, "-step-",
                                                  opened.state.step(), length, other));
}

// AlreadyExists unless the folder is free or holds an earlier evaluation of the same weights on the
// same data.
absl::Status CheckDirectory(const std::string& out, const std::string& split,
                            const RunRecord& record) {
  const auto taken = [&out](absl::string_view what) {
    return absl::AlreadyExistsError(
        absl::StrCat(out, " holds ", what, "; choose another --out for this evaluation"));
  };
  if (FileExists(JoinPath(out, kCurveFile))) return taken("a run");
  if (!FileExists(JoinPath(out, kRecordFile))) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const RunRecord held, ReadRunRecord(out));
  const bool is_same =
      held.method() == record.method() && held.seed() == record.seed() &&
      held.weights_sha256() == record.weights_sha256() &&
      Fingerprint(held.data()) == Fingerprint(record.data()) &&
      held.config().view().max_length_tokens() == record.config().view().max_length_tokens() &&
      held.results_size() == 1 && held.results(0).split() == split;
  return is_same ? absl::OkStatus() : taken(absl::StrCat("the record of ", held.method()));
}

// The run that the checkpoint is one of; nullopt while it is unfinished, and of a lone file.
std::optional<RunRecord> RecordOfRun(const std::string& checkpoint) {
  if (IsWeightsFile(checkpoint)) return std::nullopt;
  absl::StatusOr<RunRecord> record = ReadRunRecord(RunOf(checkpoint));
  return record.ok() ? std::optional(*std::move(record)) : std::nullopt;
}

// Whether the selected step is known without a record: what is best so far need not stay so, and
// which trial of a search won, only the record says.
bool IsSelectionKnown(const CheckpointState& state) {
  const bool is_fixed = state.config().evaluation().selection() == EvaluationConfig::FIXED_STEP;
  return !state.config().has_search() && (is_fixed || IsTrained(state));
}

// Sets the selected step as far as it is known, and returns SplitResult.checkpoint.
std::string PlaceInRun(const std::optional<RunRecord>& run, const CheckpointState& state,
                       RunRecord* record) {
  const bool has_failed = run && run->has_failure();
  const bool is_known = run ? !has_failed : IsSelectionKnown(state);
  if (run) {
    record->set_selected_step(run->selected_step());
    record->set_selected_validation(run->selected_validation());
  } else if (!is_known) {
    record->clear_selected_step();
    record->clear_selected_validation();
  }
  if (is_known && record->selected_step() == state.step()) return kSelectedCheckpoint;
  if (is_known && IsTrained(state)) return kLastCheckpoint;
  record->mutable_later_look()->set_step(state.step());
  return absl::StrCat("step ", state.step());
}

// What is scored and, where it is another, what the run was trained on.
void SetData(const OpenedCheckpoint& opened, const std::string& split, RunRecord* record) {
  const DataView& view = opened.state.config().view();
  LaterLook& look = *record->mutable_later_look();
  if (opened.trained_max_length_tokens > 0) {
    look.set_trained_max_length_tokens(opened.trained_max_length_tokens);
    if (!record->provenance().empty())
      (*record->mutable_provenance())["view.max_length_tokens"] = "--max-length";
  }
  // Other splits of the folder may hold other examples than the run's.
  const bool is_known = opened.state.data().split_fingerprint().contains(split);
  if (is_known && IsDataOfRun(opened, split)) {
    record->mutable_data()->set_view_fingerprint(Fingerprint(view));
    return;
  }
  if (is_known) *look.mutable_trained_data() = opened.state.data();
  *record->mutable_data() = IdentifyData(opened.data.manifest(), view);
}

RunRecord MakeRecord(const Look& look, const std::string& split) {
  const OpenedCheckpoint& opened = look.opened;
  RunRecord record = RecordFromState(opened.state, opened.model->parameters());
  record.set_weights_sha256(opened.state.weights_sha256());
  SetData(opened, split, &record);
  return record;
}

}  // namespace

absl::StatusOr<Evaluation> EvaluateCheckpoint(const EvaluateRequest& request) {
  LRA_ASSIGN_OR_RETURN(const Look look, OpenLook(request));
  const auto& [checkpoint, opened] = look;
  Evaluation evaluation;
  RunRecord& record = evaluation.record;
  record = MakeRecord(look, request.split);
  evaluation.out_dir = request.out_dir.empty()
                           ? DefaultDirectory(checkpoint, opened, request.split, record.data())
                           : request.out_dir;
  LRA_RETURN_IF_ERROR(CheckDirectory(evaluation.out_dir, request.split, record));
  // Before a look at the test split that would leave nothing.
  LRA_RETURN_IF_ERROR(MakeDirectories(evaluation.out_dir));
  LRA_RETURN_IF_ERROR(CheckCanWrite(JoinPath(evaluation.out_dir, kRecordFile)));
  LRA_RETURN_IF_ERROR(LogLook(request, look));
  const std::string place = PlaceInRun(RecordOfRun(checkpoint), opened.state, &record);
  record.set_cell_fingerprint(CellFingerprintOf(record));
  LRA_ASSIGN_OR_RETURN(const SplitResult result,
                       ScoreAndStore(*opened.model, opened.split, opened.state,
                                     {.record_dir = evaluation.out_dir,
                                      .predictions_path = "predictions.npy",
                                      .checkpoint = place,
                                      .half_logits = request.half_logits,
                                      .quiet = request.quiet}));
  *record.add_results() = result;
  LRA_ASSIGN_OR_RETURN(const std::vector<TestLook> looks, LooksAt(look));
  record.mutable_test_looks()->Assign(looks.begin(), looks.end());
  LRA_RETURN_IF_ERROR(WriteRunRecord(evaluation.out_dir, record));
  return evaluation;
}

}  // namespace lra
