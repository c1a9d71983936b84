#include "inspect/open_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "datasets/data_directory.h"
#include "datasets/manifest.h"
#include "datasets/split_rule.h"
#include "eval/data_identity.h"
#include "eval/run_record.h"
#include "inspect/other_length.h"
#include "lra/config_check.h"
#include "lra/excerpt.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "models/base/device_work.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"
#include "run_folder/checkpoint.h"
#include "run_folder/test_looks.h"
#include "train/size_check.h"

namespace lra {

namespace {

// Names the first field in which the data, read through the checkpoint's view, differs from what
// the model was trained on. Other examples are allowed, longer ones too.
absl::Status CheckSameTask(const std::string& data_dir, const TaskSpec& data,
                           const TaskSpec& checkpoint) {
  RunRecord a, b;
  *a.mutable_spec() = checkpoint;
  *b.mutable_spec() = data;
  for (RunRecord* record : {&a, &b}) record->mutable_spec()->clear_max_length_tokens();
  const std::vector<FieldDifference> differences = DiffRecords(a, b);
  if (differences.empty()) return absl::OkStatus();
  const FieldDifference& first = differences.front();
  const bool is_vocabulary =
      absl::StartsWith(first.path, "spec.token_names") || first.path == "spec.vocabulary_size";
  return absl::InvalidArgumentError(absl::StrCat(
      data_dir, ": ", first.path, " is ", first.b, ", the checkpoint was trained with ", first.a,
      is_vocabulary
          ? " (under its view; a vocabulary of code points belongs to the data it was counted in)"
          : "",
      "; give it data of its own task"));
}

// The fingerprint of a split, or nothing where it is not known.
std::string FingerprintOf(const DataIdentity& data, const std::string& split) {
  const auto it = data.split_fingerprint().find(split);
  return it == data.split_fingerprint().end() ? "" : it->second;
}

absl::Status CheckSameExamples(const std::string& data_dir, const OpenedCheckpoint& opened,
                               const std::string& split) {
  if (IsDataOfRun(opened, split)) return absl::OkStatus();
  const CheckpointState& state = opened.state;
  const DataIdentity data = IdentifyData(opened.data.manifest(), state.config().view());
  constexpr size_t kDigits = 12;
  return absl::FailedPreconditionError(absl::StrCat(
      data_dir, ": split \"", split, "\" has fingerprint ",
      FingerprintOf(data, split).substr(0, kDigits), ", the run's own has ",
      FingerprintOf(state.data(), split).substr(0, kDigits),
      state.data_dir().empty() ? "" : absl::StrCat(" (from ", state.data_dir(), ")"),
      ": these are other examples; give --data FOLDER with the run's own, or --other-data to use "
      "these all the same"));
}

// "\"bad\", \"good\"".
std::string ClassesText(const Manifest& manifest) {
  constexpr int kMost = 20;
  std::vector<std::string> names;
  for (int i = 0; i < std::min(manifest.class_names_size(), kMost); ++i)
    names.push_back(QuotedName(manifest.class_names(i)));
  return absl::StrCat(absl::StrJoin(names, ", "),
                      manifest.class_names_size() > kMost ? ", ..." : "");
}

// Whether the data is still what the run was trained on.
bool IsTrainedOn(const Manifest& data, const CheckpointState& state) {
  const DataView& view = state.config().view();
  return ResolveSplitRule(data, view).ok() &&
         FingerprintOf(IdentifyData(data, view), "train") == FingerprintOf(state.data(), "train");
}

// What a label stands for, only the data says, and the run's own may be gone: then nobody knows
// whether the labels of other data mean the same.
absl::Status CheckSameClasses(const std::string& data_dir, const Manifest& data,
                              const CheckpointState& state) {
  const std::string& dir_of_run = state.data_dir();
  if (data.class_names().empty() || dir_of_run.empty()) return absl::OkStatus();
  const absl::StatusOr<Manifest> own = ReadManifest(dir_of_run);
  if (!own.ok() || !IsTrainedOn(*own, state)) {
    std::cerr << "warning: the classes of " << data_dir << " are " << ClassesText(data)
              << "; whether they are the run's is not known, as its own data is not there ("
              << dir_of_run << ")\n";
    return absl::OkStatus();
  }
  const int classes = std::min(own->class_names_size(), data.class_names_size());
  for (int label = 0; label < classes; ++label) {
    if (own->class_names(label) == data.class_names(label)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        data_dir, ": label ", label, " is ", QuotedName(data.class_names(label)),
        ", in the data that the run was trained on ", QuotedName(own->class_names(label)), " (",
        ClassesText(data), " here, ", ClassesText(*own), " in ", dir_of_run,
        "): its answers would be counted against other classes; number the labels as there, "
        "class_names of the manifest in the same order"));
  }
  return absl::OkStatus();
}

std::string ChooseDataDirectory(const OpenRequest& request, const CheckpointState& state) {
  if (!request.data_dir.empty()) return request.data_dir;
  if (FileExists(JoinPath(state.data_dir(), kManifestFile))) return state.data_dir();
  return DefaultDataDirectory(state.config().task());
}

// 0 leaves the length as it is.
absl::Status SetLength(int64_t max_length_tokens, CheckpointState* state) {
  if (max_length_tokens == 0) return absl::OkStatus();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  state->mutable_config()->mutable_view()->set_max_length_tokens(
      static_cast<int32_t>(std::min(max_length_tokens, kMost)));
  return Annotate(CheckStoredConfig(state->config()), "--max-length");
}

// Replaces the model, which reads inputs as it was trained to, by one of the state's length.
absl::Status ChangeLength(at::Device device, const OpenRequest& request,
                          const CheckpointState& trained, OpenedCheckpoint* opened) {
  const int64_t length = opened->state.config().view().max_length_tokens();
  absl::StatusOr<std::unique_ptr<Classifier>> model =
      LoadClassifierOn(device, request.checkpoint, opened->state, request.make_classifier);
  if (!model.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--max-length ", length,
                     ": the model cannot be had at that length: ", model.status().message()));
  }
  LRA_ASSIGN_OR_RETURN(const SplitView as_trained,
                       SplitView::Create(opened->data, request.split, trained.config().view()));
  LRA_RETURN_IF_ERROR(CheckIsSameModel(*opened->model, **model, as_trained, opened->split));
  opened->model = *std::move(model);
  opened->trained_max_length_tokens = as_trained.spec().max_length_tokens();
  return absl::OkStatus();
}

// What pretraining took is known once it has ended; a lone file never says it.
bool IsOfPretraining(const std::string& checkpoint, const CheckpointState& state) {
  return !IsWeightsFile(checkpoint) && state.config().has_pretrain() &&
         state.pretrain().steps() == 0;
}

TaskSpec NameAndVersion(const TaskSpec& spec) {
  TaskSpec part;
  part.set_name(spec.name());
  part.set_version(spec.version());
  return part;
}

}  // namespace

std::string DataDirectoryOfRun(const std::string& run) {
  const absl::StatusOr<std::string> checkpoint = FindCheckpoint(run);
  if (!checkpoint.ok()) return "";
  const absl::StatusOr<CheckpointState> state = LoadCheckpointState(*checkpoint);
  if (!state.ok() || !FileExists(JoinPath(state->data_dir(), kManifestFile))) return "";
  return state->data_dir();
}

bool IsDataOfRun(const OpenedCheckpoint& opened, const std::string& split) {
  const std::string of_run = FingerprintOf(opened.state.data(), split);
  return of_run.empty() ||
         of_run == FingerprintOf(IdentifyData(opened.data.manifest(), opened.state.config().view()),
                                 split);
}

absl::StatusOr<CheckpointState> LoadCheckedState(const std::string& checkpoint) {
  LRA_ASSIGN_OR_RETURN(CheckpointState state, LoadCheckpointState(checkpoint));
  if (IsOfPretraining(checkpoint, state)) {
    return absl::FailedPreconditionError(
        absl::StrCat(checkpoint, ": is of pretraining, whose model guesses tokens and not yet ",
                     "labels; give a checkpoint of training with labels, of ",
                     std::filesystem::path(RunOf(checkpoint)).parent_path().string()));
  }
  LRA_RETURN_IF_ERROR(
      Annotate(CheckStoredConfig(state.config()), absl::StrCat(checkpoint, ": its configuration")));
  return state;
}

absl::StatusOr<std::unique_ptr<Classifier>> LoadClassifier(const std::string& checkpoint,
                                                           const CheckpointState& state,
                                                           ClassifierFactory make_classifier) {
  // A folder's state is sealed; what a lone file says of itself is not.
  if (IsWeightsFile(checkpoint)) {
    LRA_ASSIGN_OR_RETURN(const int64_t file_bytes, FileSizeBytes(checkpoint));
    LRA_RETURN_IF_ERROR(CheckHoldsWeights(checkpoint, file_bytes, state.config(), state.spec()));
  }
  std::unique_ptr<Classifier> model;
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    LRA_ASSIGN_OR_RETURN(model, make_classifier(state.config(), state.spec()));
    return absl::OkStatus();
  }));
  LRA_RETURN_IF_ERROR(LoadWeights(checkpoint, state, model->parameters()));
  return model;
}

absl::StatusOr<std::unique_ptr<Classifier>> LoadClassifierOn(at::Device device,
                                                             const std::string& checkpoint,
                                                             const CheckpointState& state,
                                                             ClassifierFactory make_classifier) {
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Classifier> model,
                       LoadClassifier(checkpoint, state, make_classifier));
  SetTf32(state.config().numerics().precision() == NumericsConfig::TF32);
  LRA_RETURN_IF_ERROR(CatchTorch([&] {
    model->MoveTo(device);
    return absl::OkStatus();
  }));
  return model;
}

absl::StatusOr<OpenedCheckpoint> OpenCheckpoint(const OpenRequest& request) {
  LRA_ASSIGN_OR_RETURN(const at::Device device, OpenDevice(request.device));
  OpenedCheckpoint opened;
  LRA_ASSIGN_OR_RETURN(const CheckpointState trained, LoadCheckedState(request.checkpoint));
  opened.state = trained;
  LRA_RETURN_IF_ERROR(SetLength(request.max_length_tokens, &opened.state));
  const CheckpointState& state = opened.state;
  const DataView& view = state.config().view();
  const std::string data_dir = ChooseDataDirectory(request, state);
  // Before the view, which another task's data may not be able to serve.
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(data_dir));
  LRA_RETURN_IF_ERROR(
      CheckSameTask(data_dir, NameAndVersion(manifest.spec()), NameAndVersion(state.spec())));
  LRA_ASSIGN_OR_RETURN(opened.data, Dataset::Open(data_dir, {.splits = {request.split},
                                                             .view = &view,
                                                             .threads = request.threads}));
  LRA_ASSIGN_OR_RETURN(opened.split, SplitView::Create(opened.data, request.split, view));
  LRA_RETURN_IF_ERROR(CheckSameTask(data_dir, opened.split.spec(), state.spec()));
  if (!request.allows_other_data)
    LRA_RETURN_IF_ERROR(CheckSameExamples(data_dir, opened, request.split));
  if (!IsDataOfRun(opened, request.split))
    LRA_RETURN_IF_ERROR(CheckSameClasses(data_dir, manifest, state));
  LRA_ASSIGN_OR_RETURN(
      opened.model, LoadClassifierOn(device, request.checkpoint, trained, request.make_classifier));
  if (state.config().view().max_length_tokens() != trained.config().view().max_length_tokens())
    LRA_RETURN_IF_ERROR(ChangeLength(device, request, trained, &opened));
  return opened;
}

absl::StatusOr<Look> OpenLook(const LookRequest& request) {
  Look look;
  LRA_ASSIGN_OR_RETURN(look.checkpoint, FindCheckpoint(request.checkpoint));
  const std::string note = DescribeUnselected(request.checkpoint, look.checkpoint);
  if (!note.empty() && !request.quiet) std::cerr << "note: " << note << "\n";
  LRA_ASSIGN_OR_RETURN(look.opened,
                       OpenCheckpoint({.checkpoint = look.checkpoint,
                                       .data_dir = request.data_dir,
                                       .split = request.split,
                                       .threads = request.threads,
                                       .device = request.device,
                                       .allows_other_data = request.allows_other_data,
                                       .max_length_tokens = request.max_length_tokens}));
  return look;
}

absl::Status LogLook(const LookRequest& request, const Look& look) {
  if (request.split != "test") return absl::OkStatus();
  const CheckpointState& state = look.opened.state;
  return LogTestLook(RunOf(look.checkpoint), request.command_line, state.step(),
                     IsWeightsFile(look.checkpoint) ? state.weights_sha256() : "");
}

absl::StatusOr<std::vector<TestLook>> LooksAt(const Look& look) {
  LRA_ASSIGN_OR_RETURN(std::vector<TestLook> looks, TestLooks(RunOf(look.checkpoint)));
  if (!IsWeightsFile(look.checkpoint)) return looks;
  std::erase_if(looks, [&](const TestLook& logged) {
    return !logged.weights_sha256().empty() &&
           logged.weights_sha256() != look.opened.state.weights_sha256();
  });
  return looks;
}

}  // namespace lra
