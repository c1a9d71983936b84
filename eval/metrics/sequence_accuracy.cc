// The share of examples all of whose guessed tokens are right.
#include "eval/ratio_metrics.h"
#include "eval/sequences.h"

namespace lra {
namespace {

absl::StatusOr<std::unique_ptr<Metric>> MakeSequenceAccuracy() {
  return std::make_unique<ShareMetric>(
      MetricTraits{.name = kSequenceAccuracy,
                   .title = "Examples whose tokens were all guessed rightly, in percent,",
                   .unit = "%",
                   .scale = 100,
                   .decimals = 2,
                   // Most tokens of every sequence may be right, and no sequence.
                   .tells_training = false},
      kExactSequences, kSequences);
}

LRA_REGISTER(MetricRegistry, kSequenceAccuracy, MakeSequenceAccuracy);

}  // namespace
}  // namespace lra
