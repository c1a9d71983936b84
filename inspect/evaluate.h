// Scores a checkpoint after training (`lra eval`).
#ifndef LRA_INSPECT_EVALUATE_H_
#define LRA_INSPECT_EVALUATE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"
#include "inspect/open_checkpoint.h"

namespace lra {

struct EvaluateRequest : LookRequest {
  // Where record and predictions are written; empty = RUN/evaluations/SPLIT-step-N, with
  // "-length-" and the length behind for another than the run's, and for other data than the run's
  // "-data-" and its fingerprint.
  std::string out_dir;
  // Predictions are stored as float16, not as float32.
  bool half_logits = false;
};

struct Evaluation {
  RunRecord record;
  std::string out_dir;
};

// Scores the whole split and writes a record. If the split is test, the look is logged in the run's
// own record as well. The errors of OpenCheckpoint, and AlreadyExists where out_dir holds a run or
// the record of other weights or other data.
absl::StatusOr<Evaluation> EvaluateCheckpoint(const EvaluateRequest& request);

}  // namespace lra

#endif  // LRA_INSPECT_EVALUATE_H_
