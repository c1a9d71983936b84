#include "eval/difference_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "eval/crossed.h"
#include "lra/progress.h"

namespace lra {

std::string SignedText(const Metric& metric, double mean, const Interval& interval) {
  const MetricTraits& traits = metric.traits();
  const int decimals =
      std::max(0, traits.decimals + metric.DecimalsFor((interval.high - interval.low) / 2));
  const auto number = [&](double value) {
    return absl::StrFormat("%+.*f", decimals, traits.scale * value);
  };
  return absl::StrCat(number(mean), " ", metric.difference_unit(), " [", number(interval.low), ", ",
                      number(interval.high), "]");
}

std::string ValueText(const Metric& metric, double value, const std::optional<Interval>& interval) {
  if (!interval || std::isnan(interval->low)) return metric.Number(value);
  const int more = metric.DecimalsFor((interval->high - interval->low) / 2);
  return absl::StrCat(metric.Number(value, more), " [", metric.Number(interval->low, more), ", ",
                      metric.Number(interval->high, more), "]");
}

int MoreDecimals(const Metric& metric, const std::optional<Interval>& interval) {
  if (!interval || std::isnan(interval->low)) return 0;
  return std::max(0, metric.DecimalsFor((interval->high - interval->low) / 2));
}

std::string BlocksText(int64_t examples, int64_t block_examples) {
  const int64_t blocks = CountBlocks(examples, block_examples);
  if (blocks == examples) return "";
  return absl::StrCat(FormatCount(blocks), " blocks of ", block_examples, " examples");
}

std::string NeighboursText(int64_t block_examples) {
  if (block_examples == 1) return "";
  return absl::StrCat("Neighbouring examples depend on each other: intervals are of blocks of ",
                      block_examples,
                      " examples, or of single examples where these scatter by more.");
}

std::string PText(double p) { return p < 1e-10 ? "p < 1e-10" : absl::StrFormat("p = %.2g", p); }

}  // namespace lra
