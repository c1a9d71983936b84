// Scores a checkpoint after training (`lra eval`).
#ifndef LRA_INSPECT_EVALUATE_H_
#define LRA_INSPECT_EVALUATE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"

namespace lra {

struct EvaluateRequest {
  // A checkpoint folder, a run folder, or a lone weights file, whose folder then stands for the
  // run's. A run folder stands for its selected checkpoint or, while unfinished, its latest.
  std::string checkpoint;
  std::string data_dir;  // empty = DefaultDataDirectory of the checkpoint's task
  std::string split = "validation";
  // Where record and predictions are written; empty = RUN/evaluations/SPLIT-step-N.
  std::string out_dir;
  std::string command_line;
  int threads = 0;
  bool quiet = false;
};

struct Evaluation {
  RunRecord record;
  std::string out_dir;
};

// Scores the whole split and writes a record. If the split is test, the look is logged in the run's
// own record as well. InvalidArgument if the data's task is not the checkpoint's; other data of the
// same task is allowed and recorded.
absl::StatusOr<Evaluation> EvaluateCheckpoint(const EvaluateRequest& request);

}  // namespace lra

#endif  // LRA_INSPECT_EVALUATE_H_
