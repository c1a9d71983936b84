#include "inspect/sample_token.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lra {
namespace {

// The ids that may be drawn, in their order.
std::vector<int64_t> Candidates(absl::Span<const float> logits, const SampleRules& rules) {
  std::vector<int64_t> ids;
  for (auto id = rules.first_id; id < static_cast<int64_t>(logits.size()); ++id) ids.push_back(id);
  const int64_t wanted = rules.temperature == 0 ? 1 : rules.top_k;
  if (wanted == 0 || wanted >= static_cast<int64_t>(ids.size())) return ids;
  const auto is_likelier = [&](int64_t a, int64_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::nth_element(ids.begin(), ids.begin() + (wanted - 1), ids.end(), is_likelier);
  ids.resize(wanted);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

int64_t SampleToken(absl::Span<const float> logits, const SampleRules& rules, double uniform) {
  const std::vector<int64_t> ids = Candidates(logits, rules);
  if (ids.size() == 1) return ids[0];
  float largest = logits[ids[0]];
  for (const int64_t id : ids) largest = std::max(largest, logits[id]);
  std::vector<double> weights;
  double total = 0;
  for (const int64_t id : ids) {
    weights.push_back(std::exp((static_cast<double>(logits[id]) - largest) / rules.temperature));
    total += weights.back();
  }
  double sum = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    sum += weights[i];
    if (sum > uniform * total) return ids[i];
  }
  return ids.back();  // rounding alone leads here
}

double NatsOf(absl::Span<const float> logits, int64_t id) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum) - logits[id];
}

}  // namespace lra
