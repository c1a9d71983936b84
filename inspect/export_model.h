// A trained model as files for plain PyTorch (`lra export`): its weights, what of its configuration
// the model needs, and a Python file that builds it from both (inspect/model.py).
#ifndef LRA_INSPECT_EXPORT_MODEL_H_
#define LRA_INSPECT_EXPORT_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"

namespace lra {

// The names that model.py registers, in its order: `kind` is "attention" or "block".
std::vector<std::string> ExportedNames(absl::string_view kind);

// Unimplemented, with the names that there are, where model.py lacks the block or the attention.
absl::Status CheckIsExported(const ExperimentConfig& config);

struct ExportedFacts {
  int64_t step = 0;
  bool padding_matters = false;  // Classifier::depends_on_padding()
};

// The content of config.json: sizes and choices of the model, options of its block and attention
// (fields that are younger than the run at their legacy values), and the specification of its data.
std::string ExportedConfig(const ExperimentConfig& config, const TaskSpec& spec,
                           const ExportedFacts& facts);

struct ModelExportRequest {
  std::string run;  // as FindCheckpoint() takes it
  // "selected" (of an unfinished run: the latest), "last" or "step-N"; other than "selected" only
  // of a run's folder.
  std::string checkpoint = "selected";
  std::string out_dir;  // a new folder
};

struct ExportedModel {
  std::string checkpoint;  // as FindCheckpoint() returns it
  int64_t step = 0;
  std::string block, attention;     // registered names
  bool computes_otherwise = false;  // the run's own logits were not computed in FP32
  std::vector<std::string> files;   // relative to out_dir
};

// Writes weights.safetensors (the checkpoint's own bytes), config.json and model.py. The errors of
// FindCheckpoint(), CheckIsExported() and LoadClassifier(); NotFound, with the steps there are, for
// a checkpoint that the run lacks; AlreadyExists for a folder with files in it.
absl::StatusOr<ExportedModel> ExportPyTorch(const ModelExportRequest& request);

}  // namespace lra

#endif  // LRA_INSPECT_EXPORT_MODEL_H_
