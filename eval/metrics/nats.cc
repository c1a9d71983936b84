// The mean negative log-likelihood of a target: the cross-entropy that training minimises.
#include "eval/ratio_metrics.h"

namespace lra {
namespace {

absl::StatusOr<std::unique_ptr<Metric>> MakeNats() {
  return std::make_unique<MeanMetric>(
      MetricTraits{.name = kNats,
                   .title = "Mean negative log-likelihood of a target in nats",
                   .unit = "nats",
                   .is_higher_better = false,
                   .range = kFromZero,
                   .slope_by_nats = [](double) { return 1.0; }},
      kNats, kTargets);
}

LRA_REGISTER(MetricRegistry, kNats, MakeNats);

}  // namespace
}  // namespace lra
