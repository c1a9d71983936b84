// Tasks by name, and what can be said about them without data: `lra list tasks NAME`.
#ifndef LRA_TASKS_TASK_FACTS_H_
#define LRA_TASKS_TASK_FACTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "datasets/manifest.pb.h"
#include "datasets/task_knowledge.h"
#include "lra/task_spec.pb.h"
#include "tasks/task.h"

namespace lra {

// The task with the options of configs/tasks/<name>.textproto. The errors of LoadTaskFile and of
// the task's factory.
absl::StatusOr<std::unique_ptr<Task>> MakeTask(absl::string_view name);

// What the manifest of the task's data would say as far as a view depends on it: its specification
// and the names of its stored splits. The errors of MakeTask.
absl::StatusOr<Manifest> ManifestWithoutData(absl::string_view name);

struct TaskFacts {
  std::string description;
  TaskSpec spec;
  int64_t version = 0;         // of the config file
  int64_t block_examples = 1;  // BlockExamplesOf(): neighbours that statistics count as one
  // Examples that `lra data prepare` makes by default, and from which seed; empty where the task is
  // imported only.
  std::vector<SplitSize> generated;
  uint32_t canonical_seed = 0;
  std::string imported_from;  // empty where the task is generated only
  bool has_oracle_of_generated = false, has_oracle_of_imported = false;
  std::vector<BaselineFacts> baselines;  // weakest first, the majority class among them
  // Path and value, with the names that the --set of `lra data prepare` takes.
  std::vector<std::pair<std::string, std::string>> options;
};
// The errors of MakeTask.
absl::StatusOr<TaskFacts> DescribeTask(absl::string_view name);

// What the task of a data set knows about it; nothing where this program lacks the task.
absl::StatusOr<TaskKnowledge> KnowledgeOfTask(const Manifest& manifest);

}  // namespace lra

#endif  // LRA_TASKS_TASK_FACTS_H_
