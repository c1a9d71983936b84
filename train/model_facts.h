// What a checkpoint's weights and outputs tell the doctor (eval/doctor.h).
#ifndef LRA_TRAIN_MODEL_FACTS_H_
#define LRA_TRAIN_MODEL_FACTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "eval/doctor.h"

namespace lra {

// `path` is a checkpoint or a run folder. Compares every trained tensor with its initial values,
// which are made anew. With `data_dir` (may be empty) a few validation examples are run alone, in a
// padded batch, and with their tokens in another order (all but the first, which several poolings
// read). Errors: those of FindCheckpoint, LoadWeights and OpenCheckpoint.
absl::StatusOr<ModelFacts> LookAtModel(const std::string& path, const std::string& data_dir,
                                       int threads);

}  // namespace lra

#endif  // LRA_TRAIN_MODEL_FACTS_H_
