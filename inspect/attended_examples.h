// The examples on which a trained model's attention is looked at: maps, locality.
#ifndef LRA_INSPECT_ATTENDED_EXAMPLES_H_
#define LRA_INSPECT_ATTENDED_EXAMPLES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inspect/open_checkpoint.h"

namespace lra {

// InvalidArgument for a block that uses no attention.
absl::Status CheckHasWeights(const ExperimentConfig& config);

// Whether the model puts a vector in front of each sequence (models/next_token_model.h).
bool HasCls(const OpenedCheckpoint& opened);

// How many tokens of the example an attention sees: CLS counts, padding only where it affects the
// model.
int64_t TokensSeen(const OpenedCheckpoint& opened, int64_t example);

struct ExampleChoice {
  // The first so many of the split that are not longer than max_tokens.
  int64_t examples = 16;
  std::optional<int64_t> example;  // this one instead, by its place in the split
  int64_t max_tokens = 0;          // 0 = no limit
};

struct ChosenExamples {
  std::vector<int64_t> examples;  // places in the split
  int64_t passed_over = 0;        // examples before the last chosen one that were too long
};

// InvalidArgument, naming the flag, for an example that does not exist or is too long, and where
// none is short enough.
absl::StatusOr<ChosenExamples> ChooseExamples(const ExampleChoice& choice,
                                              const OpenedCheckpoint& opened);

// Classifier::VisitAttention of one example alone, and without padding unless that affects the
// model.
void VisitExample(const OpenedCheckpoint& opened, int64_t example,
                  const Classifier::AttentionVisitor& visit);

}  // namespace lra

#endif  // LRA_INSPECT_ATTENDED_EXAMPLES_H_
