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
  std::string data_dir;            // empty = the run's own (inspect/open_checkpoint.h)
  bool allows_other_data = false;  // otherwise other examples than the run's are refused
  std::string split = "validation";
  // Where record and predictions are written; empty = RUN/evaluations/SPLIT-step-N, for other data
  // than the run's with "-data-" and its fingerprint behind.
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
// own record as well. The errors of OpenCheckpoint, and AlreadyExists where out_dir holds a run or
// the record of other weights or other data.
absl::StatusOr<Evaluation> EvaluateCheckpoint(const EvaluateRequest& request);

}  // namespace lra

#endif  // LRA_INSPECT_EVALUATE_H_
