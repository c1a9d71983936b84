// Facts about a checkpoint's weights and outputs, for the doctor (eval/doctor.h).
#ifndef LRA_INSPECT_MODEL_FACTS_H_
#define LRA_INSPECT_MODEL_FACTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "eval/doctor.h"
#include "models/classifier_factory.h"

namespace lra {

struct ModelFactsRequest {
  std::string path;      // a checkpoint or a run folder
  std::string data_dir;  // empty = the model is not run
  int threads = 0;
  std::string device;  // as OpenDevice, where the model is run
  ClassifierFactory make_classifier = CreateClassifier;
};

// Compares every trained tensor with its initial values, which are computed again. With data, runs
// a few validation examples alone, in a padded batch, and with all tokens after the first in
// another order (several poolings read the first). Errors are those of FindCheckpoint, LoadWeights
// and OpenCheckpoint.
absl::StatusOr<ModelFacts> LookAtModel(const ModelFactsRequest& request);

}  // namespace lra

#endif  // LRA_INSPECT_MODEL_FACTS_H_
