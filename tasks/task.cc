#include "tasks/task.h"

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "lra/config.h"
#include "lra/data_root.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "tasks/data_only.h"
#include "tasks/quarters.h"

namespace lra {

absl::StatusOr<EncodedExample> Task::Generate(uint32_t seed, uint32_t split, uint32_t index,
                                              uint32_t* attempt) const {
  return absl::UnimplementedError(absl::StrCat("task ", Spec().name(), " cannot be generated"));
}

absl::StatusOr<std::unique_ptr<RawReader>> Task::OpenRaw(std::unique_ptr<RawSource> source) const {
  return absl::InvalidArgumentError(
      absl::StrCat("task ", Spec().name(), " cannot be imported: leave --raw out"));
}

absl::StatusOr<EncodedExample> Task::Encode(const RawExample& raw) const {
  return absl::UnimplementedError(absl::StrCat("task ", Spec().name(), " cannot be imported"));
}

absl::StatusOr<RawExample> Task::ToRaw(const EncodedExample& example) const {
  return absl::UnimplementedError(absl::StrCat("task ", Spec().name(), " cannot be imported"));
}

absl::StatusOr<std::vector<int64_t>> Task::WriteSample(absl::string_view folder,
                                                       uint32_t seed) const {
  return absl::UnimplementedError(absl::StrCat("task ", Spec().name(), " cannot be imported"));
}

absl::StatusOr<std::optional<int32_t>> Task::OracleLabel(const StoredExample& example) const {
  return absl::UnimplementedError(
      absl::StrCat("labels of task ", Spec().name(), " do not follow from its examples"));
}

std::vector<std::unique_ptr<BaselineMethod>> Task::Baselines(const DataView& view) const {
  return {};
}

std::vector<std::unique_ptr<BaselineMethod>> Task::TokenBaselines(const DataView& view) const {
  return {};
}

absl::StatusOr<std::vector<Strata>> Task::StrataOf(const SplitView& train, const SplitView& split,
                                                   const DataView& view, int threads) const {
  return LengthStrata(split);
}

bool KnowsTask(absl::string_view name) {
  if (TaskRegistry::Get().Has(name)) return true;
  const absl::StatusOr<TaskFile> file = LoadTaskFile(name);
  if (file.ok()) return file->data_only();
  return !name.empty() && FileExists(DataOnlyTaskPath(name));
}

absl::StatusOr<std::unique_ptr<Task>> TaskOf(const Manifest& manifest) {
  const std::string& name = manifest.spec().name();
  if (!TaskRegistry::Get().Has(name) && KnowsTask(name)) return MakeDataOnlyTask(manifest);
  if (!TaskRegistry::Get().Has(name) || manifest.has_options()) {
    return TaskRegistry::Get().Create("task", name, manifest.options());
  }
  LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(name));
  return TaskRegistry::Get().Create("task", name, file.options());
}

absl::Status CheckDataOfTask(const std::string& data_dir, absl::string_view task) {
  const absl::StatusOr<Manifest> manifest = ReadManifest(data_dir);
  if (!manifest.ok()) return absl::OkStatus();
  const TaskSpec& held = manifest->spec();
  if (held.name() != task) {
    return absl::InvalidArgumentError(absl::StrCat(data_dir, " holds task \"", held.name(),
                                                   "\", not \"", task,
                                                   "\"; give --data of that task"));
  }
  if (!TaskRegistry::Get().Has(held.name())) return CheckDataOnlyVersion(data_dir, held);
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> made, TaskOf(*manifest));
  if (made->Spec().version() == held.version()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      data_dir, ": spec.version of task \"", task, "\" is ", held.version(), ", this program has ",
      made->Spec().version(), "; `lra data prepare ", task, "` makes it"));
}

}  // namespace lra
