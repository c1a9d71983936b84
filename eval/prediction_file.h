// Reads somebody else's predictions: .npy and .npz files, in any order of the examples that an
// index gives. docs/scoring.md.
#ifndef LRA_EVAL_PREDICTION_FILE_H_
#define LRA_EVAL_PREDICTION_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lra/task_spec.pb.h"

namespace lra {

struct PredictionFiles {
  // A .npy file of predictions, or a .npz file with the array "predictions" and perhaps "index".
  // Predictions are logits [examples, C] of float16, float32 or float64 (rounded to float32), or
  // predicted classes [examples] of any integer type.
  std::string predictions;
  // A .npy file of integers [examples]: the original index of each row (SplitView::stored_index).
  // Empty = the .npz file's, or none: then row i is the split's example i.
  std::string index = {};
};

// The split that predictions are about.
struct PredictedSplit {
  const TaskSpec& spec;
  std::string name;
  int64_t examples = 0;
  // The original index of each example, in the split's order. Needed where files have an index.
  absl::Span<const int64_t> indices = {};
};

struct ExternalPredictions {
  std::vector<float> logits;  // [examples, C], in the split's order
  // The file held classes: logits are 1 at the class and 0 elsewhere, and a loss is not known.
  bool only_labels = false;
  bool has_index = false;
};

// InvalidArgument names file, row and value, and what the split needs: for another shape, a logit
// that is not finite, a class out of range, and an index that is no example of the split, occurs
// twice or is missing.
absl::StatusOr<ExternalPredictions> ReadPredictions(const PredictionFiles& files,
                                                    const PredictedSplit& split);

}  // namespace lra

#endif  // LRA_EVAL_PREDICTION_FILE_H_
