#include "eval/half_logits.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

void KeepGuess(absl::Span<const float> row, Half* rounded) {
  const auto guess = std::max_element(row.begin(), row.end()) - row.begin();
  for (int64_t i = 0; i < guess; ++i)
    if (rounded[i] >= rounded[guess]) rounded[i] = NextBelow(rounded[guess]);
}

}  // namespace

absl::StatusOr<std::vector<Half>> HalfLogits(absl::string_view where,
                                             absl::Span<const float> logits, int classes) {
  std::vector<Half> rounded(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    rounded[i] = Half::Nearest(logits[i]);
    if (!std::isfinite(logits[i]) || std::isfinite(float{rounded[i]})) continue;
    return absl::OutOfRangeError(absl::StrCat(
        where, ": row ", i / classes, ", class ", i % classes, ": the logit ", logits[i],
        " is beyond float16's ", Half::kLargest, "; without --half-logits, float32 holds it"));
  }
  for (size_t i = 0; i < logits.size(); i += classes)
    KeepGuess(logits.subspan(i, classes), &rounded[i]);
  return rounded;
}

}  // namespace lra
