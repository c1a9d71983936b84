#include "train/evaluate.h"

#include "absl/strings/str_cat.h"
#include "eval/data_identity.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "train/checkpoint.h"
#include "train/finish.h"
#include "train/open_checkpoint.h"
#include "train/test_looks.h"

namespace lra {

absl::StatusOr<std::string> CheckpointTask(const std::string& checkpoint) {
  LRA_ASSIGN_OR_RETURN(const std::string path, FindCheckpoint(checkpoint));
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckpointState(path));
  return state.config().task();
}

absl::StatusOr<Evaluation> EvaluateCheckpoint(const EvaluateRequest& request) {
  LRA_ASSIGN_OR_RETURN(const std::string checkpoint, FindCheckpoint(request.checkpoint));
  LRA_ASSIGN_OR_RETURN(
      const OpenedCheckpoint opened,
      OpenCheckpoint(checkpoint, request.data_dir, request.split, request.threads));
  const std::string run_dir = RunOf(checkpoint);
  Evaluation evaluation;
  evaluation.out_dir = request.out_dir.empty()
                           ? JoinPath(run_dir, absl::StrCat("evaluations/", request.split, "-step-",
                                                            opened.state.step()))
                           : request.out_dir;
  if (request.split == "test") {
    LRA_RETURN_IF_ERROR(LogTestLook(run_dir, request.command_line, opened.state.step()));
  }
  LRA_RETURN_IF_ERROR(MakeDirectories(evaluation.out_dir));
  evaluation.record = RecordFromState(opened.state, opened.model->parameters());
  const bool is_selected = evaluation.record.selected_step() == opened.state.step();
  LRA_ASSIGN_OR_RETURN(
      const SplitResult result,
      ScoreAndStore(*opened.model, opened.split, opened.state,
                    {.record_dir = evaluation.out_dir,
                     .predictions_path = "predictions.npy",
                     .checkpoint = is_selected ? kSelectedCheckpoint : kLastCheckpoint,
                     .quiet = request.quiet}));
  *evaluation.record.mutable_data() =
      IdentifyData(opened.data.manifest(), opened.state.config().view());
  *evaluation.record.add_results() = result;
  evaluation.record.set_weights_sha256(opened.state.weights_sha256());
  LRA_ASSIGN_OR_RETURN(const std::vector<TestLook> looks, TestLooks(run_dir));
  evaluation.record.mutable_test_looks()->Assign(looks.begin(), looks.end());
  LRA_RETURN_IF_ERROR(WriteRunRecord(evaluation.out_dir, evaluation.record));
  return evaluation;
}

}  // namespace lra
