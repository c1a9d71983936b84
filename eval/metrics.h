// Scores of a split: counts first, ratios last, so that parts can be merged.
#ifndef LRA_EVAL_METRICS_H_
#define LRA_EVAL_METRICS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace lra {

struct SplitScore {
  int64_t examples = 0;
  int64_t correct = 0;
  double loss_sum = 0;  // cross-entropy in nats

  void Merge(const SplitScore& other);
  // In [0, 1]; 0 when there are no examples.
  double Accuracy() const;
  double MeanLoss() const;
};

// Scores logits [examples, C] (row-major) against labels [examples], C = classes. The prediction is
// the largest logit, the lowest class among equals. Losses are summed in float64 by log-sum-exp.
// Internal for a logit that is not finite, InvalidArgument for sizes that do not fit and for labels
// outside 0 .. C-1; both name the example.
absl::StatusOr<SplitScore> ScoreLogits(absl::Span<const float> logits,
                                       absl::Span<const int32_t> labels, int classes);

}  // namespace lra

#endif  // LRA_EVAL_METRICS_H_
