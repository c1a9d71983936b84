// What `lra table --verify` finds out about a run, in words and as JSON.
#ifndef LRA_EVAL_VERIFICATION_H_
#define LRA_EVAL_VERIFICATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "eval/prediction_match.h"

namespace lra {

// Predictions that were made anew, by how they stand to the stored ones.
struct RemadePredictions {
  int64_t same_bits = 0, rounding = 0, moved = 0, ties = 0, other_guesses = 0;

  void Add(PredictionMatch match);
  int64_t total() const { return same_bits + rounding + moved + ties + other_guesses; }
};

// The same of scores of examples whose tokens are guessed; of those no logits are stored.
struct RemadeScores {
  int64_t same_bits = 0, rounding = 0, moved = 0;

  int64_t total() const { return same_bits + rounding + moved; }
};

struct Verification {
  std::string directory;
  // Files whose bytes are what the record or their own seal says.
  int64_t intact_files = 0;
  // Each names a file, and what of it differs: the byte or the example where that can be told.
  std::vector<std::string> changes;
  // Files that the record names and that are not there.
  std::vector<std::string> missing_files;
  RemadePredictions predictions;
  RemadeScores scores;
  // Why predictions were not made anew, a reason each; whatever else was compared counts all the
  // same.
  std::vector<std::string> not_remade;

  bool is_changed() const { return !changes.empty(); }
  // Nothing differs, and some predictions or scores come out of the checkpoint as they are stored.
  bool is_verified() const { return changes.empty() && predictions.total() + scores.total() > 0; }
};

// A line a run with its changes below, and at the end how many were verified.
std::string VerificationText(absl::Span<const Verification> runs);
std::string VerificationJson(absl::Span<const Verification> runs);

// OK where nothing differs; otherwise DataLoss that says in how many runs something does.
absl::Status ChangedRuns(absl::Span<const Verification> runs);

}  // namespace lra

#endif  // LRA_EVAL_VERIFICATION_H_
