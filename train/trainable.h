// What training refuses of a configuration before its first step, whatever the examples are. `lra
// config` asks the same, so that it takes nothing that `lra train` refuses.
#ifndef LRA_TRAIN_TRAINABLE_H_
#define LRA_TRAIN_TRAINABLE_H_

#include "absl/status/status.h"
#include "datasets/manifest.pb.h"
#include "lra/task_spec.pb.h"
#include "train/request.h"

namespace lra {

// On stored data that the view shows as `spec`: a metric that training with labels cannot give, and
// the errors of CheckClasses, where labels are guessed, and of CheckLengths.
absl::Status CheckTask(const TrainRequest& request, const Manifest& manifest, const TaskSpec& spec);

// On stored data: a view that it cannot serve, CheckTask, and what the models refuse that would be
// made (options, sizes, pretraining that the attention or the view does not allow), and a model or
// an encoder that the run cannot start from. The models are made without memory.
absl::Status CheckTrainable(const TrainRequest& request, const Manifest& manifest);

}  // namespace lra

#endif  // LRA_TRAIN_TRAINABLE_H_
