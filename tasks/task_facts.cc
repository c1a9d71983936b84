#include "tasks/task_facts.h"

#include "datasets/data_directory.h"
#include "datasets/manifest.h"
#include "lra/config.h"
#include "lra/experiment.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"
#include "lra/task_files.h"
#include "tasks/baseline.h"
#include "tasks/data_only.h"

namespace lra {

absl::StatusOr<std::unique_ptr<Task>> MakeTask(absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(name));
  if (file.data_only()) {
    LRA_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(DefaultDataDirectory(name)));
    return MakeDataOnlyTask(manifest);
  }
  return TaskRegistry::Get().Create("task", name, file.options());
}

absl::StatusOr<Manifest> ManifestWithoutData(absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, MakeTask(name));
  Manifest manifest;
  *manifest.mutable_spec() = task->Spec();
  for (const SplitSize& split : task->Splits()) manifest.add_splits()->set_name(split.name);
  return manifest;
}

absl::StatusOr<TaskFacts> DescribeTask(absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(const TaskFile file, LoadTaskFile(name));
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, MakeTask(name));
  TaskFacts facts;
  facts.description = file.description();
  facts.spec = task->Spec();
  facts.version = file.version();
  facts.block_examples = BlockExamplesOf(name);
  if (task->CanGenerate()) {
    facts.generated = task->Splits();
    facts.canonical_seed = file.canonical_seed();
  }
  facts.imported_from = task->RawDescription();
  facts.has_oracle_of_generated = task->HasOracle("generated");
  facts.has_oracle_of_imported = task->HasOracle("imported");
  // Which there are depends on how the task is seen: whether tokens are guessed, for one.
  const DataView view = LoadView(name, kDefaultProtocol, kDefaultPreset, {}).value_or(DataView());
  for (const auto& baseline : AllBaselines(*task, view))
    facts.baselines.push_back(baseline->facts());
  const std::unique_ptr<google::protobuf::Message> options = UnpackAny(file.options());
  if (options != nullptr) facts.options = LeafFields(*options);
  return facts;
}

absl::StatusOr<TaskKnowledge> KnowledgeOfTask(const Manifest& manifest) {
  TaskKnowledge knowledge;
  if (!TaskRegistry::Get().Has(manifest.spec().name())) return knowledge;
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Task> made, TaskOf(manifest));
  const std::shared_ptr<Task> task = std::move(made);
  if (task->HasOracle(manifest.origin())) {
    knowledge.oracle = [task](const StoredExample& example) { return task->OracleLabel(example); };
  }
  for (const auto& baseline : task->Baselines(DataView())) {
    const Grouping* grouping = baseline->grouping();
    if (grouping == nullptr || knowledge.shortcut) continue;
    knowledge.shortcut_values = grouping->groups;
    knowledge.shortcut = grouping->group_of;
  }
  return knowledge;
}

}  // namespace lra
