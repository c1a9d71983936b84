// Numbers of the places in the model where dropout acts: part of the masks' keys. Never renumber:
// it would change every training run.
#ifndef LRA_MODELS_LAYERS_DROPOUT_SITES_H_
#define LRA_MODELS_LAYERS_DROPOUT_SITES_H_

#include <cstdint>

namespace lra {

constexpr uint32_t kEmbeddingSite = 0;
// Added to every site while the second text of a pair is read: above all others, so that two equal
// texts get masks of their own.
constexpr uint32_t kSecondTextSites = 1 << 16;

// Places inside a block. A block numbers further places of its own from kFurtherPlaces on, up to
// kFurtherPlaces + 61.
enum class LayerSite : uint32_t {
  kAttentionWeights = 0,
  kAttentionOutput = 1,  // of blocks with one output: the block's
  kMlpHidden = 2,
  kMlpOutput = 3,
  kFurtherPlaces = 4,
  kBeforeInnerActivation = kFurtherPlaces + 62,  // inside an attention
  kAfterInnerActivation = kFurtherPlaces + 63,
};

// Models have at most 128 layers: the first four places take sites 1 to 512, further ones 4,096 to
// 12,287.
constexpr uint32_t SiteOf(int64_t layer, LayerSite place) {
  constexpr uint32_t kFirst = static_cast<uint32_t>(LayerSite::kFurtherPlaces);
  const uint32_t index = static_cast<uint32_t>(layer), number = static_cast<uint32_t>(place);
  return number < kFirst ? 1 + kFirst * index + number : 4096 + 64 * index + (number - kFirst);
}

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_DROPOUT_SITES_H_
