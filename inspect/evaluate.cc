#include "inspect/evaluate.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "eval/data_identity.h"
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
      opened.has_other_length
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

}  // namespace

absl::StatusOr<Evaluation> EvaluateCheckpoint(const EvaluateRequest& request) {
  LRA_ASSIGN_OR_RETURN(const Look look, OpenLook(request));
  const auto& [checkpoint, opened] = look;
  const std::string run_dir = RunOf(checkpoint);
  Evaluation evaluation;
  evaluation.record = RecordFromState(opened.state, opened.model->parameters());
  evaluation.record.set_weights_sha256(opened.state.weights_sha256());
  *evaluation.record.mutable_data() =
      IdentifyData(opened.data.manifest(), opened.state.config().view());
  evaluation.out_dir = request.out_dir.empty() ? DefaultDirectory(checkpoint, opened, request.split,
                                                                  evaluation.record.data())
                                               : request.out_dir;
  LRA_RETURN_IF_ERROR(CheckDirectory(evaluation.out_dir, request.split, evaluation.record));
  LRA_RETURN_IF_ERROR(LogLook(request, look));
  LRA_RETURN_IF_ERROR(MakeDirectories(evaluation.out_dir));
  const bool is_selected = evaluation.record.selected_step() == opened.state.step();
  LRA_ASSIGN_OR_RETURN(
      const SplitResult result,
      ScoreAndStore(*opened.model, opened.split, opened.state,
                    {.record_dir = evaluation.out_dir,
                     .predictions_path = "predictions.npy",
                     .checkpoint = is_selected ? kSelectedCheckpoint : kLastCheckpoint,
                     .half_logits = request.half_logits,
                     .quiet = request.quiet}));
  *evaluation.record.add_results() = result;
  LRA_ASSIGN_OR_RETURN(const std::vector<TestLook> looks, TestLooks(run_dir));
  evaluation.record.mutable_test_looks()->Assign(looks.begin(), looks.end());
  LRA_RETURN_IF_ERROR(WriteRunRecord(evaluation.out_dir, evaluation.record));
  return evaluation;
}

}  // namespace lra
