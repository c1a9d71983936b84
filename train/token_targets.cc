#include "train/token_targets.h"

#include <algorithm>

#include "lra/random.h"
#include "models/encoder/sequences.h"

namespace lra {
namespace {

// Which of an example's `length` tokens are masked.
std::vector<int32_t> HiddenTokens(int32_t length, double fraction, RandomStream stream) {
  std::vector<int32_t> hidden;
  for (int32_t n = 0; n < length; ++n) {
    if (stream.Uniform() < fraction) hidden.push_back(n);
  }
  if (hidden.empty()) hidden.push_back(static_cast<int32_t>(stream.Below(length)));
  return hidden;
}

void AddTarget(const Sequences& texts, int64_t place, int64_t source, TokenTargets* targets) {
  targets->places.positions.push_back(place);
  targets->ids.push_back(texts.tokens[source]);
}

}  // namespace

TokenTargets MakeTokenTargets(const HostBatch& batch, int column, const PretrainConfig& config,
                              uint32_t seed, uint32_t step) {
  const Sequences texts = Texts(batch, column);
  TokenTargets targets;
  targets.places.column = column;
  const bool is_masked = config.objective() == PretrainConfig::MASKED;
  if (is_masked) targets.places.hidden.assign(texts.batch * texts.length, 0);
  for (int64_t b = 0; b < texts.batch; ++b) {
    const int64_t row = b * texts.length;
    if (!is_masked) {
      for (int32_t n = 0; n + 1 < texts.lengths[b]; ++n)
        AddTarget(texts, row + n, row + n + 1, &targets);
      continue;
    }
    const RandomStream stream(
        seed, RandomDomain::kHiddenTokens,
        {static_cast<uint32_t>(batch.example_ids[b]), step, static_cast<uint32_t>(column)});
    for (int32_t n : HiddenTokens(texts.lengths[b], config.masked_fraction(), stream)) {
      targets.places.hidden[row + n] = 1;
      AddTarget(texts, row + n, row + n, &targets);
    }
  }
  return targets;
}

}  // namespace lra
