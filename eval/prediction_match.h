// How a prediction that was made anew from a checkpoint stands to the stored one.
#ifndef LRA_EVAL_PREDICTION_MATCH_H_
#define LRA_EVAL_PREDICTION_MATCH_H_

#include "absl/types/span.h"
#include "lra/config.pb.h"

namespace lra {

// Another processor, another number of threads or another build adds in another order, so logits
// are compared up to rounding, and guesses exactly unless rounding alone decides between them.
enum class PredictionMatch {
  kSameBits,   // every logit
  kRounding,   // the same guess, no logit further away than rounding
  kMoved,      // the same guess, but some logit is further away
  kTie,        // another guess, and in both the two classes are equal up to rounding
  kOtherGuess  // another guess, or an infinity or NaN in one and not, bit for bit, in the other
};

// What counts as rounding, as a part of the largest logit's size (at least 1): of float32 or, where
// the model computes in bfloat16 or the file holds float16, of these.
double RoundingOf(const NumericsConfig& numerics, bool is_half);

// Logits [C] each, C >= 1.
PredictionMatch MatchPrediction(absl::Span<const float> stored, absl::Span<const float> anew,
                                double rounding);

}  // namespace lra

#endif  // LRA_EVAL_PREDICTION_MATCH_H_
