#include "train/open_checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "models/torch_status.h"
#include "train/checkpoint.h"

namespace lra {

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

absl::StatusOr<OpenedCheckpoint> OpenCheckpoint(const std::string& checkpoint,
                                                const std::string& data_dir,
                                                const std::string& split, int threads) {
  OpenedCheckpoint opened;
  LRA_ASSIGN_OR_RETURN(opened.state, LoadCheckpointState(checkpoint));
  LRA_ASSIGN_OR_RETURN(opened.data, Dataset::Open(data_dir, {.splits = {split},
                                                             .view = &opened.state.config().view(),
                                                             .threads = threads}));
  if (opened.data.spec().name() != opened.state.spec().name() ||
      opened.data.spec().version() != opened.state.spec().version()) {
    return absl::InvalidArgumentError(
        absl::StrCat(data_dir, " holds task \"", opened.data.spec().name(), "\" version ",
                     opened.data.spec().version(), ", the checkpoint was trained on \"",
                     opened.state.spec().name(), "\" version ", opened.state.spec().version()));
  }
  LRA_ASSIGN_OR_RETURN(opened.split,
                       SplitView::Create(opened.data, split, opened.state.config().view()));
  if (opened.split.spec().vocabulary_size() != opened.state.spec().vocabulary_size() ||
      !std::equal(
          opened.split.spec().token_names().begin(), opened.split.spec().token_names().end(),
          opened.state.spec().token_names().begin(), opened.state.spec().token_names().end())) {
    return absl::InvalidArgumentError(absl::StrCat(
        data_dir, ": under the checkpoint's view its ids are not those of the checkpoint (",
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

}  // namespace lra
