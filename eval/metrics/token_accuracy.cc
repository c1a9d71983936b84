// The share of guessed tokens that are right. No proportion of examples: each has a share of its
// own, so intervals are those of a mean, and labels are not judged by it.
#include "absl/strings/str_cat.h"
#include "eval/metric.h"
#include "lra/progress.h"

namespace lra {
namespace {

constexpr char kTokenAccuracy[] = "token_accuracy";

class TokenAccuracy : public Metric {
 public:
  TokenAccuracy()
      : Metric({.name = kTokenAccuracy,
                .title = "Tokens that were guessed rightly, in percent,",
                .unit = "%",
                .scale = 100,
                .decimals = 2,
                .range = {.low = 0, .high = 1},
                .sums = {kCorrect, kTokens}}) {}

  double Value(const Sums& sums) const override {
    const int64_t tokens = CountOf(sums, kTokens);
    return tokens == 0 ? 0
                       : static_cast<double>(CountOf(sums, kCorrect)) / static_cast<double>(tokens);
  }
  std::string Evidence(const Sums& sums) const override {
    return absl::StrCat(FormatCount(CountOf(sums, kCorrect)), " of ",
                        FormatCount(CountOf(sums, kTokens)), " tokens");
  }
};

absl::StatusOr<std::unique_ptr<Metric>> MakeTokenAccuracy() {
  return std::make_unique<TokenAccuracy>();
}

LRA_REGISTER(MetricRegistry, kTokenAccuracy, MakeTokenAccuracy);

}  // namespace
}  // namespace lra
