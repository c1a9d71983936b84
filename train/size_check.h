// Models that no step can be taken with, told from their configuration before anything is
// allocated.
#ifndef LRA_TRAIN_SIZE_CHECK_H_
#define LRA_TRAIN_SIZE_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "train/run.h"

namespace lra {

// InvalidArgument, with both figures, if training the run's model on its longest example takes more
// memory than this process may use (MemoryLimitBytes), or than a larger --memory-budget. What is
// estimated is a lower bound, so that whatever fits is let through. On another device than the CPU
// only the weights count, which are drawn in the machine's own memory. Unless the run is quiet, a
// step that will take long is announced on standard error. The run's data is open; its model is
// not needed.
absl::Status CheckTrainingFits(const Run& run, bool is_cpu);

// InvalidArgument, with both figures, if a model of this configuration takes more than
// `file_bytes`, the size of the file that claims to hold its weights.
absl::Status CheckHoldsWeights(absl::string_view path, int64_t file_bytes,
                               const ExperimentConfig& config, const TaskSpec& spec);

}  // namespace lra

#endif  // LRA_TRAIN_SIZE_CHECK_H_
