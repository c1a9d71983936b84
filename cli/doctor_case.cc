#include "cli/doctor_case.h"

#include <memory>
#include <utility>

#include "eval/doctor_data.h"
#include "lra/status_macros.h"
#include "tasks/task.h"
#include "train/model_facts.h"
#include "train/run_folder.h"

namespace lra {
namespace {

// Nothing of a task that this program lacks.
absl::StatusOr<TaskKnowledge> KnowledgeOfTask(const Manifest& manifest) {
  TaskKnowledge knowledge;
  if (!TaskRegistry::Get().Has(manifest.spec().name())) return knowledge;
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Task> made, TaskOf(manifest));
  const std::shared_ptr<Task> task = std::move(made);
  if (task->HasOracle(manifest.origin())) {
    knowledge.oracle = [task](const StoredExample& example) { return task->OracleLabel(example); };
  }
  if (const std::optional<Shortcut> shortcut = task->ShortcutInfo()) {
    knowledge.shortcut_values = static_cast<int>(shortcut->values.size());
    knowledge.shortcut = [task](absl::Span<const int32_t> ids) { return task->ShortcutValue(ids); };
  }
  return knowledge;
}

}  // namespace

absl::StatusOr<DoctorCase> GatherCase(const std::string& run, std::string data_dir,
                                      bool data_is_given, int threads,
                                      std::vector<std::string>* failures) {
  LRA_ASSIGN_OR_RETURN(RunFolder folder, ReadRunFolder(run));
  DoctorCase facts;
  facts.is_finished = folder.state == RunState::kFinished;
  facts.run = std::move(folder.record);
  if (!folder.failure.empty()) failures->push_back("it stopped: " + folder.failure);
  LRA_ASSIGN_OR_RETURN(facts.landmarks, LoadLandmarks());
  absl::StatusOr<DataFacts> data = LookAtData(data_dir, facts.run, KnowledgeOfTask, threads);
  if (data.ok() && !data->is_same && !data_is_given) {
    failures->push_back(data_dir + " is not the data that the run was trained on; give --data");
    data_dir.clear();
  } else if (data.ok()) {
    facts.data = *std::move(data);
  } else if (data_is_given) {
    return data.status();
  } else {
    failures->push_back(std::string(data.status().message()));
    data_dir.clear();
  }
  absl::StatusOr<ModelFacts> model = LookAtModel(run, data_dir, threads);
  if (model.ok()) {
    facts.model = *std::move(model);
  } else {
    if (absl::IsDataLoss(model.status())) facts.damage = std::string(model.status().message());
    failures->push_back(std::string(model.status().message()));
  }
  return facts;
}

}  // namespace lra
