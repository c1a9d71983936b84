#include "eval/metrics.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

absl::Status CheckRow(absl::Span<const float> row, int32_t label, size_t example) {
  for (size_t c = 0; c < row.size(); ++c) {
    if (std::isfinite(row[c])) continue;
    return absl::InternalError(absl::StrCat("example ", example, ": the logit of class ", c, " is ",
                                            row[c], "; logits must be finite"));
  }
  if (label >= 0 && label < static_cast<int32_t>(row.size())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("example ", example, ": label ", label, " is outside 0 .. ", row.size() - 1));
}

// -log softmax(row)[label].
double CrossEntropy(absl::Span<const float> row, int32_t label) {
  const double highest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (float logit : row) sum += std::exp(logit - highest);
  return highest + std::log(sum) - row[label];
}

}  // namespace

void SplitScore::Merge(const SplitScore& other) {
  examples += other.examples;
  correct += other.correct;
  loss_sum += other.loss_sum;
}

double SplitScore::Accuracy() const {
  return examples == 0 ? 0 : static_cast<double>(correct) / examples;
}

double SplitScore::MeanLoss() const { return examples == 0 ? 0 : loss_sum / examples; }

absl::StatusOr<SplitScore> ScoreLogits(absl::Span<const float> logits,
                                       absl::Span<const int32_t> labels, int classes) {
  if (classes < 1 || logits.size() != labels.size() * classes) {
    return absl::InvalidArgumentError(absl::StrCat(
        logits.size(), " logits do not fit ", labels.size(), " labels of ", classes, " classes"));
  }
  SplitScore score;
  for (size_t i = 0; i < labels.size(); ++i) {
    const absl::Span<const float> row = logits.subspan(i * classes, classes);
    if (absl::Status status = CheckRow(row, labels[i], i); !status.ok()) return status;
    score.correct +=
        std::max_element(row.begin(), row.end()) - row.begin() == labels[i];  // first of equals
    score.loss_sum += CrossEntropy(row, labels[i]);
    ++score.examples;
  }
  return score;
}

}  // namespace lra
