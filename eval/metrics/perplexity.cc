// Among how many equally likely tokens a guess is: e to the mean negative log-likelihood of all.
#include <cmath>

#include "eval/ratio_metrics.h"

namespace lra {
namespace {

constexpr char kPerplexity[] = "perplexity";

class Perplexity : public MeanMetric {
 public:
  Perplexity()
      : MeanMetric({.name = kPerplexity,
                    .title = "Perplexity of a token",
                    .unit = kPerplexity,
                    .is_higher_better = false,
                    .range = {.low = 1, .high = kFromZero.high},
                    .slope_by_nats = [](double nats) { return std::exp(nats); }},
                   kNats, kTokens) {}

  double Value(const Sums& sums) const override {
    return CountOf(sums, kTokens) == 0 ? 0 : std::exp(MeanMetric::Value(sums));
  }
  // No mean of perplexities is that of all tokens, so that of the nats is linearised once more.
  double LinearValue(const Sums& one, const Sums& run, int64_t examples) const override {
    const double nats = MeanMetric::Value(run);
    const double of_one = Linearised(MeanMetric::Value(one), CountOf(one, kTargets),
                                     CountOf(run, kTargets), examples, nats);
    return std::exp(nats) * (1 + of_one - nats);
  }
};

absl::StatusOr<std::unique_ptr<Metric>> MakePerplexity() { return std::make_unique<Perplexity>(); }

LRA_REGISTER(MetricRegistry, kPerplexity, MakePerplexity);

}  // namespace
}  // namespace lra
