#include "models/encoder/sequences.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "datasets/real_tokens.h"
#include "datasets/view.h"

namespace lra {
namespace {

bool AreAllReal(const Sequences& sequences, const PaddingRules& rules) {
  const auto is_full = [&](int32_t tokens) { return tokens == sequences.length; };
  if (!std::all_of(sequences.lengths.begin(), sequences.lengths.end(), is_full)) return false;
  return !rules.zero_is_padding ||
         std::find(sequences.tokens.begin(), sequences.tokens.end(), 0) == sequences.tokens.end();
}

}  // namespace

Sequences FirstTexts(const HostBatch& batch) {
  return {batch.batch, batch.length, batch.tokens, batch.values, batch.lengths, {}};
}

Sequences SecondTexts(const HostBatch& batch) {
  return {batch.batch, batch.length_b, batch.tokens_b, {}, batch.lengths_b, {}};
}

Sequences Texts(const HostBatch& batch, int column) {
  return column == 0 ? FirstTexts(batch) : SecondTexts(batch);
}

JointTexts::JointTexts(const HostBatch& batch) : length_(std::max(batch.length, batch.length_b)) {
  for (const Sequences& texts : {FirstTexts(batch), SecondTexts(batch)}) {
    for (int64_t b = 0; b < texts.batch; ++b) {
      const auto row = texts.tokens.subspan(b * texts.length, texts.length);
      tokens_.insert(tokens_.end(), row.begin(), row.end());
      tokens_.resize(tokens_.size() + length_ - texts.length, 0);
    }
    lengths_.insert(lengths_.end(), texts.lengths.begin(), texts.lengths.end());
  }
}

Sequences JointTexts::sequences() const {
  return {static_cast<int64_t>(lengths_.size()), length_, tokens_, {}, lengths_, {}};
}

int64_t LongestSequence(const ExperimentConfig& config) {
  return MaxBatchTokens(config.view()) + (config.model().pooling() == ModelConfig::CLS ? 1 : 0);
}

PaddingRules::PaddingRules(const ExperimentConfig& config)
    : has_cls(config.model().pooling() == ModelConfig::CLS),
      cls_as_first_token(config.model().cls_mask() == ModelConfig::AS_FIRST_TOKEN),
      zero_is_padding(config.view().zero_is_padding()) {}

at::Tensor RealPositions(const Sequences& sequences, const PaddingRules& rules) {
  if (AreAllReal(sequences, rules)) return at::Tensor();
  const int64_t extra = rules.has_cls ? 1 : 0, width = sequences.length + extra;
  at::Tensor real = at::empty({sequences.batch, width}, at::kBool);
  bool* row = real.mutable_data_ptr<bool>();
  for (int64_t b = 0; b < sequences.batch; ++b, row += width) {
    bool* const tokens = row + extra;
    const auto ids = rules.zero_is_padding
                         ? sequences.tokens.subspan(b * sequences.length, sequences.length)
                         : absl::Span<const int32_t>();
    MarkRealTokens(ids, sequences.lengths[b], rules.zero_is_padding,
                   absl::MakeSpan(tokens, sequences.length));
    if (rules.has_cls) row[0] = !rules.cls_as_first_token || tokens[0];
  }
  return real;
}

}  // namespace lra
