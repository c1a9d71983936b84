// The mean negative log2-likelihood of a token of a text. Labels are no tokens.
#include <numbers>

#include "eval/ratio_metrics.h"

namespace lra {
namespace {

constexpr char kBitsPerByte[] = "bits/byte";
constexpr char kBitsPerDim[] = "bits/dim";
constexpr int kByteIds = 257;  // padding and 256 bytes, without an end mark

// What papers call a bit a token where tokens are bytes of a text, or values of a picture.
std::string BitsOn(const TaskSpec& spec) {
  // Who guesses hidden tokens sees the others, which such papers' models do not.
  if (spec.hides_tokens()) return "";
  switch (spec.content()) {
    case TaskSpec::GREY_IMAGE:
    case TaskSpec::RGB_IMAGE:
      return kBitsPerDim;
    case TaskSpec::TEXT:
      // An end mark is one more id, and code points have names.
      return spec.vocabulary_size() == kByteIds && spec.token_names().empty() ? kBitsPerByte : "";
    default:
      return "";
  }
}

absl::StatusOr<std::unique_ptr<Metric>> MakeBitsPerToken() {
  return std::make_unique<MeanMetric>(
      MetricTraits{.name = kBitsPerToken,
                   .title = "Mean negative log-likelihood of a token in bits",
                   .unit = "bits/token",
                   .other_units = {kBitsPerByte, kBitsPerDim},
                   .unit_on = BitsOn,
                   .is_higher_better = false,
                   .range = kFromZero,
                   .slope_by_nats = [](double) { return std::numbers::log2e; }},
      kNats, kTokens, std::numbers::ln2);
}

LRA_REGISTER(MetricRegistry, kBitsPerToken, MakeBitsPerToken);

}  // namespace
}  // namespace lra
