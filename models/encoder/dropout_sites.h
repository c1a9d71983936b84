// Numbers of the places in the model where dropout acts: part of the masks' keys. Never renumber:
// it would change every training run.
#ifndef LRA_MODELS_ENCODER_DROPOUT_SITES_H_
#define LRA_MODELS_ENCODER_DROPOUT_SITES_H_

#include <cstdint>

namespace lra {

constexpr uint32_t kEmbeddingSite = 0;
// Added to every site while the second text of a pair is read: above all others (models have at
// most 128 layers), so that two equal texts get masks of their own.
constexpr uint32_t kSecondTextSites = 1 << 16;

enum class LayerSite : uint32_t {
  kAttentionWeights = 0,
  kAttentionOutput = 1,
  kMlpHidden = 2,
  kMlpOutput = 3,
};

constexpr uint32_t SiteOf(int64_t layer, LayerSite place) {
  return 1 + 4 * static_cast<uint32_t>(layer) + static_cast<uint32_t>(place);
}

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_DROPOUT_SITES_H_
