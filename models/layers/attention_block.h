// Blocks around one attention: what attention_mlp and mixer share. The attention's part (norm,
// projections, method) goes first; a subclass says what follows it.
#ifndef LRA_MODELS_LAYERS_ATTENTION_BLOCK_H_
#define LRA_MODELS_LAYERS_ATTENTION_BLOCK_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/interface/block.h"
#include "models/layers/attention_part.h"
#include "models/layers/dropout_sites.h"

namespace lra {

class AttentionBlock : public Block {
 public:
  const BlockTraits& traits() const final { return traits_; }
  at::Tensor Forward(const BlockInput& input) const final;
  BlockState InitState(int64_t batch, const at::TensorOptions& options) const final;
  at::Tensor Extend(const BlockInput& piece, BlockState* state) const final;
  const Attention* attention() const final { return &part_.attention(); }
  AttentionInput InputOfAttention(const BlockInput& input) const final;

 protected:
  // `traits` brings label, summary, source and the block's own costs, such as "N E^2"; the rest,
  // the attention's costs included, is the attention's.
  AttentionBlock(const BlockContext& context, AttentionPart part, const BlockTraits& traits);

  const AttentionPart& part() const { return part_; }
  DropoutKey Key(LayerSite place, const DropoutRun& run) const;

 private:
  // From the attention's output [B, H, N, D] to the block's [B, N, E].
  virtual at::Tensor Finish(const at::Tensor& attended, const BlockInput& input) const = 0;

  const int64_t index_;
  const AttentionPart part_;
  const BlockTraits traits_;
};

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_ATTENTION_BLOCK_H_
