// What a task can say about its data to somebody who does not know the task.
#ifndef LRA_DATASETS_TASK_KNOWLEDGE_H_
#define LRA_DATASETS_TASK_KNOWLEDGE_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "datasets/manifest.pb.h"
#include "datasets/verify.h"

namespace lra {

// Functions are empty where the task knows nothing.
struct TaskKnowledge {
  LabelOracle oracle;
  // Maps an example's ids to a value below shortcut_values that says something about its label.
  std::function<int(absl::Span<const int32_t>)> shortcut;
  int shortcut_values = 0;
};

using KnowledgeOf = std::function<absl::StatusOr<TaskKnowledge>(const Manifest& manifest)>;

}  // namespace lra

#endif  // LRA_DATASETS_TASK_KNOWLEDGE_H_
