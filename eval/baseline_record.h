// Records of trivial baselines: the majority class, and what a task itself names.
#ifndef LRA_EVAL_BASELINE_RECORD_H_
#define LRA_EVAL_BASELINE_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/row_record.h"
#include "eval/run_record.pb.h"

namespace lra {

// The names of the baselines that know nothing about the input: where labels are guessed, and where
// tokens are. A run that is not above it has not trained.
inline constexpr char kMajorityMethod[] = "majority";
inline constexpr char kUnigramMethod[] = "unigram";
// Whether a method is such a baseline.
inline bool IsMereGuess(absl::string_view method) {
  return method == kMajorityMethod || method == kUnigramMethod;
}
// What it is called in notes: "majority class", or "unigram baseline".
absl::string_view MereGuessOf(const TaskSpec& spec);

struct BaselineRun {
  std::string name;         // names the row of a table
  std::string description;  // a sentence for its footnote
  BaselineBar bar;          // what a score above it says
  DataIdentity data;
  // How the data is seen, and which protocol and preset said so; kept in the record's `config`.
  DataView view;
  std::string protocol, preset;
  TaskSpec spec;
  std::vector<RowSplit> splits;
  // The command as typed, to be logged with the look at the test split.
  std::string command_line;
  int64_t unix_seconds = 0;
};

// Returns e.g. "RUNS/listops-baseline-majority". Under another view than the task's usual one, the
// first eight digits of the fingerprint of the data and view stand behind it, so that baselines of
// several views lie side by side.
std::string BaselineDirectory(absl::string_view runs, const BaselineRun& run);

// Scores every split, writes predictions ("predictions.npy" for the test split,
// "predictions-SPLIT.npy" for others) and the record, which is returned. Replaces an earlier
// baseline of the same data and view in `directory`; AlreadyExists when it holds anything else.
absl::StatusOr<RunRecord> WriteBaselineRecord(absl::string_view directory, const BaselineRun& run);

}  // namespace lra

#endif  // LRA_EVAL_BASELINE_RECORD_H_
