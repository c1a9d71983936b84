#include "eval/prediction_match.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace lra {
namespace {

// Accumulated over the layers of a model: generous beside an epsilon of 1.2e-7, and far below what
// a change of weights or data does.
constexpr double kFloatRounding = 1e-3;
// Half a unit in the last place of float16 (11 bits), with the step of KeepGuess (half_logits.cc).
constexpr double kHalfRounding = 2e-3;
// A few units in the last place of bfloat16 (8 bits), and of TF32 (11 bits).
constexpr double kBfloat16Rounding = 3e-2, kTf32Rounding = 4e-3;

bool HasSameBits(absl::Span<const float> a, absl::Span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
  });
}

size_t GuessOf(absl::Span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

}  // namespace

double RoundingOf(const NumericsConfig& numerics, bool is_half) {
  if (numerics.precision() == NumericsConfig::BF16) return kBfloat16Rounding;
  if (numerics.precision() == NumericsConfig::TF32) return kTf32Rounding;
  return is_half ? kHalfRounding : kFloatRounding;
}

PredictionMatch MatchPrediction(absl::Span<const float> stored, absl::Span<const float> anew,
                                double rounding) {
  if (HasSameBits(stored, anew)) return PredictionMatch::kSameBits;
  double largest = 1, furthest = 0;
  for (size_t c = 0; c < stored.size(); ++c) {
    if (HasSameBits(stored.subspan(c, 1), anew.subspan(c, 1)) && !std::isfinite(stored[c]))
      continue;
    // No distance from these is rounding, and comparisons with NaN say nothing.
    if (!std::isfinite(stored[c]) || !std::isfinite(anew[c])) return PredictionMatch::kOtherGuess;
    largest = std::max<double>(largest, std::abs(stored[c]));
    furthest = std::max<double>(furthest, std::abs(double{stored[c]} - anew[c]));
  }
  const double allowed = rounding * largest;
  const size_t before = GuessOf(stored), now = GuessOf(anew);
  if (before == now)
    return furthest <= allowed ? PredictionMatch::kRounding : PredictionMatch::kMoved;
  // Each of the two logits may be off by as much.
  const bool is_tie = double{stored[before]} - stored[now] <= 2 * allowed &&
                      double{anew[now]} - anew[before] <= 2 * allowed;
  return is_tie ? PredictionMatch::kTie : PredictionMatch::kOtherGuess;
}

}  // namespace lra
