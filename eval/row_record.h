// Records of rows that were not trained here: what baselines and external rows have in common.
#ifndef LRA_EVAL_ROW_RECORD_H_
#define LRA_EVAL_ROW_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"
#include "eval/sums.h"

namespace lra {

struct RowSplit {
  std::string split;
  std::vector<float> logits;    // [examples, C]
  std::vector<int32_t> labels;  // [examples]
  // Instead of logits where tokens are guessed: what each example scored.
  std::optional<ExampleSums> token_sums{};
};

struct RowIdentity {
  RunRecord::Kind kind = RunRecord::BASELINE;
  std::string method;       // the row of a table
  std::string description;  // a sentence for its footnote
  DataIdentity data;
  TaskSpec spec;
  // The command as typed and the time, to be logged with the look at the test split.
  std::string command_line;
  int64_t unix_seconds = 0;
};

// A record with everything but results. `config` holds what the row is known by, its task at least.
RunRecord MakeRowRecord(const RowIdentity& row, ExperimentConfig config);

// The record that `directory` holds, which a new one of this row may replace; nullopt without one.
// AlreadyExists when it is a run of another kind, or of other data or another view.
absl::StatusOr<std::optional<RunRecord>> ReplaceableRecord(absl::string_view directory,
                                                           const RowIdentity& row);

// Scores one split, stores its logits ("predictions.npy" of the test split, "predictions-SPLIT.npy"
// of others), or where tokens are guessed what each example scored.
absl::StatusOr<SplitResult> StoreRowSplit(absl::string_view directory, const RowSplit& split,
                                          const TaskSpec& spec);

// One more look at the test split.
void AddTestLook(const RowIdentity& row, RunRecord* record);

}  // namespace lra

#endif  // LRA_EVAL_ROW_RECORD_H_
