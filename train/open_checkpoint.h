// A trained model with the data to run it on: what `lra eval` and `lra attend` begin with.
#ifndef LRA_TRAIN_OPEN_CHECKPOINT_H_
#define LRA_TRAIN_OPEN_CHECKPOINT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "datasets/dataset.h"
#include "datasets/split_view.h"
#include "models/classifier.h"
#include "train/checkpoint_state.pb.h"

namespace lra {

// The checkpoint folder of a path that is one, or is a run folder: its selected checkpoint, or
// while it is unfinished its latest. A weights file stands for the folder that it lies in, or
// without one for itself. NotFound names the path.
absl::StatusOr<std::string> FindCheckpoint(const std::string& path);
// RUN of RUN/checkpoint/step-N; of a lone weights file its folder.
std::string RunOf(const std::string& checkpoint);

struct OpenedCheckpoint {
  CheckpointState state;
  std::unique_ptr<Classifier> model;  // with the checkpoint's weights
  Dataset data;
  SplitView split;  // under the checkpoint's view
};

// InvalidArgument naming the field of TaskSpec when the data's task or version, or what the
// checkpoint's view makes of it (ids, token names, classes), is not the checkpoint's; other data of
// the same task is allowed.
absl::StatusOr<OpenedCheckpoint> OpenCheckpoint(const std::string& checkpoint,
                                                const std::string& data_dir,
                                                const std::string& split, int threads);

}  // namespace lra

#endif  // LRA_TRAIN_OPEN_CHECKPOINT_H_
