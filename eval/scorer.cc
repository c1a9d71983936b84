#include "eval/scorer.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr char kNotFinitePayload[] = "lra/not-finite";

absl::Status CheckRow(absl::Span<const float> row, int32_t target, int64_t example) {
  for (size_t c = 0; c < row.size(); ++c) {
    if (std::isfinite(row[c])) continue;
    absl::Status status =
        absl::InternalError(absl::StrCat("example ", example, ": the logit of class ", c, " is ",
                                         row[c], "; logits must be finite"));
    status.SetPayload(kNotFinitePayload, absl::Cord());
    return status;
  }
  if (target >= 0 && target < static_cast<int32_t>(row.size())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("example ", example, ": label ", target, " is outside 0 .. ", row.size() - 1));
}

// -log softmax(row)[target].
double CrossEntropy(absl::Span<const float> row, int32_t target) {
  const double highest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (float logit : row) sum += std::exp(logit - highest);
  return highest + std::log(sum) - row[target];
}

bool IsOneEach(const Guesses& guesses) {
  return guesses.examples.empty() && guesses.example_count == 0;
}

absl::Status CheckSizes(const Guesses& guesses) {
  const size_t targets = guesses.targets.size();
  if (guesses.classes < 1 || guesses.logits.size() != targets * guesses.classes) {
    return absl::InvalidArgumentError(absl::StrCat(guesses.logits.size(), " logits do not fit ",
                                                   targets, " labels of ", guesses.classes,
                                                   " classes"));
  }
  if (IsOneEach(guesses) || guesses.examples.size() == targets) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(guesses.examples.size(), " example numbers do not fit ", targets, " targets"));
}

class CategoricalScorer : public Scorer {
 public:
  std::vector<std::string> sums() const override { return {kCorrect, kNats, kTargets}; }

  absl::StatusOr<ExampleSums> Score(const Guesses& guesses) const override {
    LRA_RETURN_IF_ERROR(CheckSizes(guesses));
    const bool is_one_each = IsOneEach(guesses);
    const size_t count = is_one_each ? guesses.targets.size() : guesses.example_count;
    ExampleSums sums;
    std::vector<int64_t>& targets = sums.counts[kTargets];
    std::vector<int64_t>& correct = sums.counts[kCorrect];
    std::vector<double>& nats = sums.totals[kNats];
    targets.resize(count);
    correct.resize(count);
    nats.resize(count);
    for (size_t t = 0; t < guesses.targets.size(); ++t) {
      const auto row = guesses.logits.subspan(t * guesses.classes, guesses.classes);
      const int32_t target = guesses.targets[t];
      const int64_t example = is_one_each ? static_cast<int64_t>(t) : guesses.examples[t];
      LRA_RETURN_IF_ERROR(CheckRow(row, target, example));
      ++targets[example];
      // The first of equals.
      correct[example] += std::max_element(row.begin(), row.end()) - row.begin() == target;
      nats[example] += CrossEntropy(row, target);
    }
    return sums;
  }
};

absl::StatusOr<std::unique_ptr<Scorer>> MakeCategorical() {
  return std::make_unique<CategoricalScorer>();
}

LRA_REGISTER(ScorerRegistry, kCategorical, MakeCategorical);

}  // namespace

bool IsNotFinite(const absl::Status& status) {
  return status.GetPayload(kNotFinitePayload).has_value();
}

}  // namespace lra
