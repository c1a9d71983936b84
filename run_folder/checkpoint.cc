#include "run_folder/checkpoint.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "eval/schema1.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/temporary_name.h"
#include "lra/textproto.h"
#include "models/base/safetensors.h"
#include "run_folder/checkpoint_files.h"
#include "run_folder/checkpoint_metadata.h"

namespace lra {
namespace {

constexpr int kFormatVersion = 1;
constexpr char kLatest[] = "latest";

std::string StepName(int64_t step) { return absl::StrCat("step-", step); }

NamedTensors Weights(const ParameterStore& parameters) {
  NamedTensors tensors;
  for (const Parameter& parameter : parameters.parameters()) {
    tensors.emplace_back(parameter.name, parameter.value.detach().cpu());
  }
  for (const Parameter& buffer : parameters.buffers()) {
    tensors.emplace_back(buffer.name, buffer.value.cpu());
  }
  return tensors;
}

NamedTensors OnHost(NamedTensors tensors) {
  for (auto& [name, value] : tensors) value = value.cpu();
  return tensors;
}

// Returns N of "step-N", -1 for any other name.
int64_t StepOf(absl::string_view name) {
  int64_t step = 0;
  return absl::ConsumePrefix(&name, "step-") && absl::SimpleAtoi(name, &step) ? step : -1;
}

absl::Status CheckDigest(absl::string_view path, absl::string_view expected) {
  LRA_ASSIGN_OR_RETURN(const Sha256Digest digest, HashFile(path));
  if (ToHex(digest) == expected) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, ": damaged: SHA-256 is ", ToHex(digest), ", state.textproto says ",
                   expected, "; remove this checkpoint folder and resume from an older one"));
}

// The weights file of a checkpoint folder, or the lone file itself.
std::string WeightsPath(absl::string_view checkpoint) {
  return IsWeightsFile(checkpoint) ? std::string(checkpoint) : JoinPath(checkpoint, kWeightsFile);
}

absl::Status CheckFormatVersion(absl::string_view path, const CheckpointState& state) {
  if (state.format_version() == kFormatVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, ": format version ", state.format_version(), "; this program reads ", kFormatVersion));
}

// What a checkpoint held while accuracy was the only metric, in the form of today.
void ConvertEarlier(CheckpointState* state) {
  for (CurvePoint& point : *state->mutable_curve()) ConvertSchema1(&point);
  if (state->has_unvalidated()) ConvertSchema1(state->mutable_unvalidated());
  if (state->best_validation_accuracy() == 0) return;
  state->set_best_validation(state->best_validation_accuracy());
  state->clear_best_validation_accuracy();
}

// Nothing beside a lone file says what its tensors should be, so the file itself does.
absl::Status CheckTensors(absl::string_view path, const SafetensorsFile& file) {
  const auto expected = file.metadata.find(kTensorsKey);
  if (expected == file.metadata.end())
    return absl::OkStatus();  // written before there was a digest
  const std::string actual = TensorsSha256(file.tensors);
  if (actual == expected->second) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": damaged: SHA-256 of its tensors is ", actual,
                                          ", its metadata \"", kTensorsKey, "\" says ",
                                          expected->second, "; copy the file again"));
}

// The digest of the whole file is taken as it is.
absl::StatusOr<CheckpointState> LoadLoneState(absl::string_view path) {
  LRA_ASSIGN_OR_RETURN(const SafetensorsFile file, ReadSafetensors(path));
  LRA_RETURN_IF_ERROR(CheckTensors(path, file));
  LRA_ASSIGN_OR_RETURN(CheckpointState state, StateFromMetadata(path, file.metadata));
  LRA_RETURN_IF_ERROR(CheckFormatVersion(path, state));
  LRA_ASSIGN_OR_RETURN(const Sha256Digest digest, HashFile(path));
  state.set_weights_sha256(ToHex(digest));
  return state;
}

absl::StatusOr<NamedTensors> ReadChecked(absl::string_view path, absl::string_view digest) {
  LRA_RETURN_IF_ERROR(CheckDigest(path, digest));
  LRA_ASSIGN_OR_RETURN(SafetensorsFile file, ReadSafetensors(path));
  return std::move(file.tensors);
}

// Whether the stored checkpoint of this step is up to date: it may have been saved before the step
// was validated, or before the next one failed.
bool IsSaved(const std::string& checkpoint, const CheckpointState& state) {
  const absl::StatusOr<CheckpointState> stored = LoadCheckpointState(checkpoint);
  return stored.ok() && stored->has_unvalidated() == state.has_unvalidated() &&
         stored->has_failure() == state.has_failure();
}

// Writes both files of tensors into `folder` and their digests into *state.
absl::Status WriteTensors(const std::string& folder, const NamedTensors& weights,
                          const NamedTensors& optimizer, CheckpointState* state) {
  std::map<std::string, std::string> metadata = CheckpointMetadata(*state);
  LRA_ASSIGN_OR_RETURN(*state->mutable_optimizer_sha256(),
                       WriteSafetensors(JoinPath(folder, kOptimizerFile), optimizer, metadata));
  metadata[kTensorsKey] = TensorsSha256(weights);
  LRA_ASSIGN_OR_RETURN(*state->mutable_weights_sha256(),
                       WriteSafetensors(JoinPath(folder, kWeightsFile), weights, metadata));
  return absl::OkStatus();
}

}  // namespace

std::string CheckpointPath(absl::string_view run_dir, int64_t step) {
  return JoinPath(JoinPath(run_dir, kCheckpointFolder), StepName(step));
}

absl::Status SaveCheckpoint(absl::string_view run_dir, const ParameterStore& parameters,
                            NamedTensors optimizer_state, CheckpointState* state) {
  const std::string target = CheckpointPath(run_dir, state->step());
  // If the process was killed between rename and `latest`, a folder of this step with the same
  // content is left; it is written again.
  const absl::StatusOr<std::string> latest = LatestCheckpoint(run_dir);
  const bool is_there = latest.ok() && *latest == target && FileExists(target);
  if (is_there && IsSaved(target, *state)) return absl::OkStatus();
  if (!is_there) LRA_RETURN_IF_ERROR(RemoveAll(target));
  LRA_RETURN_IF_ERROR(MakeDirectories(JoinPath(run_dir, kCheckpointFolder)));
  LRA_ASSIGN_OR_RETURN(StagingDirectory staging, StagingDirectory::Create(target, is_there));
  state->set_format_version(kFormatVersion);
  LRA_RETURN_IF_ERROR(
      WriteTensors(staging.path(), Weights(parameters), OnHost(std::move(optimizer_state)), state));
  LRA_RETURN_IF_ERROR(WriteSealedTextProto(JoinPath(staging.path(), kStateFile), *state));
  LRA_RETURN_IF_ERROR(staging.Commit());
  return WriteFileAtomically(JoinPath(JoinPath(run_dir, kCheckpointFolder), kLatest),
                             StepName(state->step()) + "\n");
}

std::vector<int64_t> CheckpointSteps(absl::string_view run_dir) {
  std::vector<int64_t> steps;
  std::error_code ignored;
  std::filesystem::directory_iterator entry(JoinPath(run_dir, kCheckpointFolder), ignored);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const int64_t step = StepOf(entry->path().filename().string());
    if (step >= 0) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void PruneCheckpoints(absl::string_view run_dir, const std::vector<int64_t>& keep_steps) {
  std::vector<std::string> keep = {kLatest};
  for (int64_t step : keep_steps) keep.push_back(StepName(step));
  std::error_code ignored;
  std::filesystem::directory_iterator entry(JoinPath(run_dir, kCheckpointFolder), ignored);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const bool is_ours = StepOf(name) >= 0 || IsTemporaryName(name);
    if (!is_ours || std::find(keep.begin(), keep.end(), name) != keep.end()) continue;
    std::error_code failed;  // it does no harm if an old checkpoint stays
    std::filesystem::remove_all(entry->path(), failed);
  }
}

absl::StatusOr<std::string> LatestCheckpoint(absl::string_view run_dir) {
  const std::string pointer = JoinPath(JoinPath(run_dir, kCheckpointFolder), kLatest);
  if (!FileExists(pointer)) return absl::NotFoundError(absl::StrCat(run_dir, ": no checkpoint"));
  LRA_ASSIGN_OR_RETURN(const std::string name, ReadFile(pointer));
  const int64_t step = StepOf(absl::StripSuffix(name, "\n"));
  if (step < 0) {
    return absl::DataLossError(absl::StrCat(pointer, ": holds \"", absl::StripSuffix(name, "\n"),
                                            "\", should hold step-<number>"));
  }
  if (FileExists(CheckpointPath(run_dir, step))) return CheckpointPath(run_dir, step);
  // If the newest checkpoint was removed by hand, as the advice for a damaged one says, the newest
  // remaining one counts.
  std::vector<int64_t> earlier = CheckpointSteps(run_dir);
  std::erase_if(earlier, [&](int64_t other) { return other > step; });
  if (!earlier.empty()) return CheckpointPath(run_dir, earlier.back());
  return absl::DataLossError(absl::StrCat(pointer, ": names step-", step,
                                          ", which is gone, and there is no earlier checkpoint; "
                                          "remove the folder ",
                                          run_dir, " and train anew"));
}

bool IsWeightsFile(absl::string_view path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(std::string(path), ignored);
}

absl::StatusOr<CheckpointState> LoadCheckpointState(absl::string_view checkpoint) {
  if (IsWeightsFile(checkpoint)) return LoadLoneState(checkpoint);
  CheckpointState state;
  const std::string path = JoinPath(checkpoint, kStateFile);
  LRA_RETURN_IF_ERROR(ReadSealedTextProto(path, &state));
  LRA_RETURN_IF_ERROR(CheckFormatVersion(path, state));
  ConvertEarlier(&state);
  return state;
}

absl::StatusOr<NamedTensors> ReadWeights(absl::string_view checkpoint,
                                         const CheckpointState& state) {
  return ReadChecked(WeightsPath(checkpoint), state.weights_sha256());
}

absl::Status LoadWeights(absl::string_view checkpoint, const CheckpointState& state,
                         const ParameterStore& parameters) {
  const std::string path = WeightsPath(checkpoint);
  LRA_ASSIGN_OR_RETURN(const NamedTensors tensors, ReadWeights(checkpoint, state));
  const std::map<std::string, at::Tensor> by_name(tensors.begin(), tensors.end());
  c10::NoGradGuard no_grad;
  for (const std::vector<Parameter>* own : {&parameters.parameters(), &parameters.buffers()}) {
    for (const Parameter& parameter : *own) {
      auto it = by_name.find(parameter.name);
      if (it == by_name.end() || it->second.sizes() != parameter.value.sizes()) {
        return absl::DataLossError(
            absl::StrCat(path, ": parameter \"", parameter.name,
                         "\" is missing or has another shape than the model"));
      }
      at::Tensor(parameter.value).copy_(it->second);
    }
  }
  return absl::OkStatus();
}

absl::Status LoadOptimizer(absl::string_view checkpoint_dir, const CheckpointState& state,
                           absl::FunctionRef<absl::Status(const NamedTensors&)> restore) {
  const std::string path = JoinPath(checkpoint_dir, kOptimizerFile);
  LRA_ASSIGN_OR_RETURN(const NamedTensors tensors, ReadChecked(path, state.optimizer_sha256()));
  return Annotate(restore(tensors), path);
}

}  // namespace lra
