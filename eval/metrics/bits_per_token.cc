// The mean negative log2-likelihood of a token of a text. Labels are no tokens.
#include <numbers>

#include "eval/ratio_metrics.h"

namespace lra {
namespace {

absl::StatusOr<std::unique_ptr<Metric>> MakeBitsPerToken() {
  return std::make_unique<MeanMetric>(
      MetricTraits{.name = kBitsPerToken,
                   .title = "Mean negative log-likelihood of a token in bits",
                   .unit = "bits/token",
                   .is_higher_better = false,
                   .range = kFromZero},
      kNats, kTokens, std::numbers::ln2);
}

LRA_REGISTER(MetricRegistry, kBitsPerToken, MakeBitsPerToken);

}  // namespace
}  // namespace lra
