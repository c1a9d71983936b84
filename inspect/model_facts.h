// Facts about a checkpoint's weights and outputs, for the doctor (eval/doctor.h).
#ifndef LRA_INSPECT_MODEL_FACTS_H_
#define LRA_INSPECT_MODEL_FACTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "eval/doctor.h"
#include "models/classifier_factory.h"

namespace lra {

// `path` is a checkpoint or a run folder. Compares every trained tensor with its initial values,
// which are computed again. With `data_dir` (may be empty), runs a few validation examples alone,
// in a padded batch, and with all tokens after the first in another order (several poolings read
// the first). Errors are those of FindCheckpoint, LoadWeights and OpenCheckpoint.
absl::StatusOr<ModelFacts> LookAtModel(const std::string& path, const std::string& data_dir,
                                       int threads, ClassifierFactory make_classifier);

}  // namespace lra

#endif  // LRA_INSPECT_MODEL_FACTS_H_
