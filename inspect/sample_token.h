// Draws a token from a model's logits.
#ifndef LRA_INSPECT_SAMPLE_TOKEN_H_
#define LRA_INSPECT_SAMPLE_TOKEN_H_

#include <cstdint>

#include "absl/types/span.h"

namespace lra {

struct SampleRules {
  // Logits are divided by it; 0 = the likeliest token.
  double temperature = 1;
  // Only so many of the likeliest tokens are drawn from; 0 = all.
  int64_t top_k = 0;
  // Ids below it are never drawn: padding.
  int64_t first_id = 0;
};

// The id at which the sum of probabilities, in the order of ids, exceeds `uniform` (in [0, 1)); of
// equal logits the lowest ids are the likeliest. In float64.
int64_t SampleToken(absl::Span<const float> logits, const SampleRules& rules, double uniform);

// -log softmax(logits)[id], over all ids, in float64.
double NatsOf(absl::Span<const float> logits, int64_t id);

}  // namespace lra

#endif  // LRA_INSPECT_SAMPLE_TOKEN_H_
