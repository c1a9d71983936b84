#include "eval/confusion.h"

#include <algorithm>

namespace lra {
namespace {

constexpr int kMaxClasses = 64;

}  // namespace

std::vector<int64_t> CountConfusion(absl::Span<const float> logits,
                                    absl::Span<const int32_t> labels, int classes) {
  if (classes > kMaxClasses) return {};
  std::vector<int64_t> counts(classes * classes, 0);
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.subspan(i * classes, classes);
    const auto guess = std::max_element(row.begin(), row.end()) - row.begin();
    ++counts[labels[i] * classes + guess];
  }
  return counts;
}

}  // namespace lra
