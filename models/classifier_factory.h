// How whoever runs a model gets it made. The program hands around CreateClassifier; a test that
// hands in a function of its own has a program with a fault in it.
#ifndef LRA_MODELS_CLASSIFIER_FACTORY_H_
#define LRA_MODELS_CLASSIFIER_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"

namespace lra {

class Classifier;

using ClassifierFactory = absl::StatusOr<std::unique_ptr<Classifier>> (*)(
    const ExperimentConfig& config, const TaskSpec& spec);

// Classifier::Create.
absl::StatusOr<std::unique_ptr<Classifier>> CreateClassifier(const ExperimentConfig& config,
                                                             const TaskSpec& spec);

}  // namespace lra

#endif  // LRA_MODELS_CLASSIFIER_FACTORY_H_
