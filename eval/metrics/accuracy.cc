// The share of targets that were guessed rightly.
#include "eval/ratio_metrics.h"

namespace lra {
namespace {

absl::StatusOr<std::unique_ptr<Metric>> MakeAccuracy() {
  return std::make_unique<ShareMetric>(MetricTraits{.name = kAccuracy,
                                                    .title = "Accuracy in percent",
                                                    .unit = "%",
                                                    .scale = 100,
                                                    .decimals = 2},
                                       kCorrect, kTargets);
}

LRA_REGISTER(MetricRegistry, kAccuracy, MakeAccuracy);

}  // namespace
}  // namespace lra
