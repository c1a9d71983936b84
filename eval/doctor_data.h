// What a look at a data set tells the doctor.
#ifndef LRA_EVAL_DOCTOR_DATA_H_
#define LRA_EVAL_DOCTOR_DATA_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "datasets/manifest.pb.h"
#include "datasets/verify.h"
#include "eval/doctor.h"

namespace lra {

// What the task knows about its examples; empty functions where it knows nothing.
struct TaskKnowledge {
  LabelOracle oracle;
  // Of an example's ids: a value below shortcut_values that tells something about its label.
  std::function<int(absl::Span<const int32_t>)> shortcut;
  int shortcut_values = 0;
};

// Of the data in `directory` under the run's view; `knowledge` is asked for once the manifest is
// known. Labels, shortcut and lengths are taken from at most so many examples of each split.
// Errors: those of Dataset::Open, InvalidArgument for data of another task than the run's.
inline constexpr int64_t kExamplesLookedAt = 4000;
using KnowledgeOf = std::function<absl::StatusOr<TaskKnowledge>(const Manifest& manifest)>;
absl::StatusOr<DataFacts> LookAtData(const std::string& directory, const RunRecord& run,
                                     const KnowledgeOf& knowledge_of, int threads);

}  // namespace lra

#endif  // LRA_EVAL_DOCTOR_DATA_H_
