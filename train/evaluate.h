// Scoring a checkpoint after the fact: `lra eval`.
#ifndef LRA_TRAIN_EVALUATE_H_
#define LRA_TRAIN_EVALUATE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"

namespace lra {

struct EvaluateRequest {
  // A checkpoint folder, a run folder (its selected checkpoint; while unfinished, its latest), or a
  // lone weights file, whose folder then stands for the run's.
  std::string checkpoint;
  std::string data_dir;
  std::string split = "validation";
  // Where record and predictions go; empty = RUN/evaluations/SPLIT-step-N.
  std::string out_dir;
  std::string command_line;
  int threads = 0;
  bool quiet = false;
};

struct Evaluation {
  RunRecord record;
  std::string out_dir;
};

// Scores the whole split and writes a record. A look at the test split is logged in the run's own
// record as well. InvalidArgument when the data's task is another than the checkpoint's; other data
// of the same task is allowed and recorded.
absl::StatusOr<Evaluation> EvaluateCheckpoint(const EvaluateRequest& request);

// Task of a checkpoint or run folder.
absl::StatusOr<std::string> CheckpointTask(const std::string& checkpoint);

}  // namespace lra

#endif  // LRA_TRAIN_EVALUATE_H_
