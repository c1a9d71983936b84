#include "train/evaluate.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "datasets/split_view.h"
#include "eval/data_identity.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "models/classifier.h"
#include "models/torch_status.h"
#include "train/checkpoint.h"
#include "train/finish.h"
#include "train/test_looks.h"

namespace lra {
namespace {

// RUN of RUN/checkpoint/step-N.
std::string RunOf(const std::string& checkpoint) {
  return std::filesystem::path(checkpoint).lexically_normal().parent_path().parent_path().string();
}

absl::StatusOr<std::string> FindCheckpoint(const std::string& path) {
  if (!FileExists(path))
    return absl::NotFoundError(absl::StrCat(path, ": no such checkpoint or run folder"));
  if (FileExists(JoinPath(path, kRecordFile))) {
    LRA_ASSIGN_OR_RETURN(const RunRecord record, ReadRunRecord(path));
    return CheckpointPath(path, record.selected_step());
  }
  if (!FileExists(JoinPath(path, "state.textproto"))) return LatestCheckpoint(path);
  std::string trimmed = std::filesystem::absolute(path).lexically_normal().string();
  if (trimmed.back() == '/') trimmed.pop_back();
  return trimmed;
}

struct Opened {
  CheckpointState state;
  std::unique_ptr<Classifier> model;
  Dataset data;
  SplitView split;
};

absl::StatusOr<Opened> Open(const EvaluateRequest& request, const std::string& checkpoint) {
  Opened opened;
  LRA_ASSIGN_OR_RETURN(opened.state, LoadCheckpointState(checkpoint));
  LRA_ASSIGN_OR_RETURN(opened.data,
                       Dataset::Open(request.data_dir, {.splits = {request.split},
                                                        .view = &opened.state.config().view(),
                                                        .threads = request.threads}));
  if (opened.data.spec().name() != opened.state.spec().name() ||
      opened.data.spec().version() != opened.state.spec().version()) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.data_dir, " holds task \"", opened.data.spec().name(), "\" version ",
                     opened.data.spec().version(), ", the checkpoint was trained on \"",
                     opened.state.spec().name(), "\" version ", opened.state.spec().version()));
  }
  LRA_ASSIGN_OR_RETURN(opened.split,
                       SplitView::Create(opened.data, request.split, opened.state.config().view()));
  if (opened.split.spec().vocabulary_size() != opened.state.spec().vocabulary_size() ||
      !std::equal(
          opened.split.spec().token_names().begin(), opened.split.spec().token_names().end(),
          opened.state.spec().token_names().begin(), opened.state.spec().token_names().end())) {
    return absl::InvalidArgumentError(absl::StrCat(
        request.data_dir, ": under the checkpoint's view its ids are not those of the checkpoint (",
        opened.split.spec().vocabulary_size(), " and ", opened.state.spec().vocabulary_size(),
        " ids): a vocabulary of view.unit=CODE_POINT belongs to the data it was counted in"));
  }
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    LRA_ASSIGN_OR_RETURN(opened.model,
                         Classifier::Create(opened.state.config(), opened.state.spec()));
    return absl::OkStatus();
  }));
  LRA_RETURN_IF_ERROR(LoadWeights(checkpoint, opened.state, opened.model->parameters()));
  return opened;
}

}  // namespace

absl::StatusOr<std::string> CheckpointTask(const std::string& checkpoint) {
  LRA_ASSIGN_OR_RETURN(const std::string path, FindCheckpoint(checkpoint));
  LRA_ASSIGN_OR_RETURN(const CheckpointState state, LoadCheckpointState(path));
  return state.config().task();
}

absl::StatusOr<Evaluation> EvaluateCheckpoint(const EvaluateRequest& request) {
  LRA_ASSIGN_OR_RETURN(const std::string checkpoint, FindCheckpoint(request.checkpoint));
  LRA_ASSIGN_OR_RETURN(const Opened opened, Open(request, checkpoint));
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
      ScoreAndStore(*opened.model, opened.split, opened.state, evaluation.out_dir,
                    "predictions.npy", is_selected ? kSelectedCheckpoint : kLastCheckpoint,
                    request.quiet));
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
