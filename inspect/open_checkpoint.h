// Opens a trained model with the data to run it on; `lra eval`, `lra attend` and `lra profile
// --perturb` begin with this.
#ifndef LRA_INSPECT_OPEN_CHECKPOINT_H_
#define LRA_INSPECT_OPEN_CHECKPOINT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datasets/dataset.h"
#include "datasets/split_view.h"
#include "eval/run_record.pb.h"
#include "models/classifier.h"
#include "models/classifier_factory.h"
#include "run_folder/checkpoint_state.pb.h"
#include "run_folder/find_checkpoint.h"

namespace lra {

// The folder of the data that a run was trained on, if it is still there; empty for a run without
// checkpoints, and where its state does not say.
std::string DataDirectoryOfRun(const std::string& run);

// The state of a checkpoint whose configuration this program can read. FailedPrecondition for one
// of pretraining, which has no model of the task.
absl::StatusOr<CheckpointState> LoadCheckedState(const std::string& checkpoint);

// The model of a checkpoint with its weights, on the CPU. DataLoss where the file is not what the
// state says; InvalidArgument where a lone weights file is too small for the model it speaks of.
absl::StatusOr<std::unique_ptr<Classifier>> LoadClassifier(
    const std::string& checkpoint, const CheckpointState& state,
    ClassifierFactory make_classifier = CreateClassifier);

// The same on a device, in the precision that its configuration asks for.
absl::StatusOr<std::unique_ptr<Classifier>> LoadClassifierOn(
    at::Device device, const std::string& checkpoint, const CheckpointState& state,
    ClassifierFactory make_classifier = CreateClassifier);

struct OpenedCheckpoint {
  CheckpointState state;
  std::unique_ptr<Classifier> model;  // has the checkpoint's weights
  Dataset data;
  SplitView split;  // seen through the checkpoint's view
  // The run's own view.max_length_tokens, where state.config has another, at which it is read;
  // otherwise 0.
  int64_t trained_max_length_tokens = 0;
};

struct OpenRequest {
  std::string checkpoint;  // as FindCheckpoint returns it
  // Empty = the folder that the run was trained on; where that is gone or not known,
  // DefaultDataDirectory of the checkpoint's task.
  std::string data_dir;
  std::string split;
  int threads = 0;
  std::string device;  // as OpenDevice; the model is there
  bool allows_other_data = false;
  int64_t max_length_tokens = 0;  // in place of the checkpoint's view.max_length_tokens; 0 = that
  ClassifierFactory make_classifier = CreateClassifier;
};

// InvalidArgument naming the field of TaskSpec when the data's task or version, or what the
// checkpoint's view makes of it (ids, token names, classes), is not the checkpoint's, and where a
// model is another one at the length that is asked for, or has no weights for it.
// FailedPrecondition when the split's examples are others than those of the run, unless other data
// is allowed: it is then recorded as what it is, unless its classes (Manifest.class_names) are not
// those of the run's own data, in their order, which is InvalidArgument; where that data is gone, a
// warning on standard error. The errors of OpenDevice.
absl::StatusOr<OpenedCheckpoint> OpenCheckpoint(const OpenRequest& request);

// What every look at a trained model is asked for.
struct LookRequest {
  // A checkpoint folder, a run folder, or a lone weights file, whose folder then stands for the
  // run's. A run folder stands for its selected checkpoint or, while unfinished, its latest.
  std::string checkpoint;
  std::string data_dir;            // as OpenRequest.data_dir
  bool allows_other_data = false;  // otherwise other examples than the run's are refused
  int64_t max_length_tokens = 0;   // as OpenRequest.max_length_tokens
  std::string split = "validation";
  std::string command_line;  // logged with a look at the test split
  int threads = 0;
  std::string device = "cpu";
  bool quiet = false;

  // Where the run's own examples are, which stored scores are about, whatever the model also runs
  // on; empty = not said.
  std::string data_of_run() const { return allows_other_data ? "" : data_dir; }
};

struct Look {
  std::string checkpoint;  // as FindCheckpoint returns it
  OpenedCheckpoint opened;
};

// The errors of FindCheckpoint and OpenCheckpoint.
absl::StatusOr<Look> OpenLook(const LookRequest& request);
// If the split is test, logs the look in the run's record.
absl::Status LogLook(const LookRequest& request, const Look& look);
// The looks at the run's test split on record. A lone weights file has those at its weights, and
// those of its folder's log that do not say at which; the folder may hold other runs' files.
absl::StatusOr<std::vector<TestLook>> LooksAt(const Look& look);

// Whether the split holds the examples that the run had there, as far as its state says.
bool IsDataOfRun(const OpenedCheckpoint& opened, const std::string& split);

}  // namespace lra

#endif  // LRA_INSPECT_OPEN_CHECKPOINT_H_
