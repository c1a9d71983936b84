// What a look at a data set tells the doctor.
#ifndef LRA_EVAL_DOCTOR_DATA_H_
#define LRA_EVAL_DOCTOR_DATA_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "datasets/task_knowledge.h"
#include "eval/doctor.h"

namespace lra {

// Gathers facts about the data in `directory` under the run's view; `knowledge` is asked for once
// the manifest is known. Labels, shortcut and lengths are taken from at most this many examples of
// each split.
// Errors: those of Dataset::Open, InvalidArgument for data of another task than the run's.
inline constexpr int64_t kExamplesLookedAt = 4000;
absl::StatusOr<DataFacts> LookAtData(const std::string& directory, const RunRecord& run,
                                     const KnowledgeOf& knowledge_of, int threads);

}  // namespace lra

#endif  // LRA_EVAL_DOCTOR_DATA_H_
