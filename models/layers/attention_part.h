// The configured attention as blocks use it, between a norm and its projections:
//   x [B, N, E] --norm--> --query, key, value--> attention --> [B, H, N, D] --output--> [B, N, E]
// Methods without projections (Projections::kNone) get the normalised x and give the output.
// Under model.attention_filter_tokens a depthwise convolution (models/layers/token_filter.h) stands
// behind the norm; under model.positions=ROTARY queries and keys are turned in front of the
// attention, and under ALIBI the attention multiplies its weights by a function of distance.
#ifndef LRA_MODELS_LAYERS_ATTENTION_PART_H_
#define LRA_MODELS_LAYERS_ATTENTION_PART_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "models/interface/block.h"
#include "models/layers/layer_pieces.h"
#include "models/layers/norm.h"
#include "models/layers/rotary.h"

namespace lra {

class AttentionPart {
 public:
  // Parameters are named <scope>attention.* and <scope>attention_norm.*. InvalidArgument for an
  // unknown attention, its options, sizes that do not fit, attention dropout on a method without
  // explicit weights, a causal mask where there is none, and positions that it cannot have.
  static absl::StatusOr<AttentionPart> Create(const BlockContext& context);

  // What the attention gets. What padding does is model.mask's say:
  //   KEYS     the attention's keep is `real`;
  //   OUTER    as KEYS, and a padded query weighs all N positions alike, padded ones included: what
  //            -1e10 added to its whole row of scores comes to. Methods without a value projection
  //            (Projections::kNone) treat it as KEYS;
  //   NO_MASK  the attention has no keep.
  AttentionInput Input(const BlockInput& input) const;
  // [B, H, N, D], in the type of x; `visit` sees it as "attention". [B, H, 1, D], the first
  // query's, where reads_first_only.
  at::Tensor Attend(const BlockInput& input) const;
  // [B, N, E] behind the output projection, from the definition.
  at::Tensor Oracle(const BlockInput& input) const;

  // The attention's state and, where there are filters, tensors = {what they read of the W - 1
  // tokens in front of the next piece [B, W - 1, E]}.
  BlockState InitState(int64_t batch, const at::TensorOptions& options) const;
  // Attend() of a piece, [B, H, T, D]. Leaves BlockState::tokens to the block.
  at::Tensor Extend(const BlockInput& piece, BlockState* state) const;

  // Norm and projections, without the attention's own.
  int64_t ParameterCount() const;
  // Floats a token that norm and projections keep for the backward.
  int64_t ActivationsOfToken() const;
  // What a block's traits take over from attention and filters: uses_attention to padding_reason.
  BlockTraits TraitsOfBlock() const;

  const Attention& attention() const { return *attention_; }
  const Norm& norm() const { return norm_; }
  const LinearMap& output() const { return output_; }
  // norm_placement AFTER: the block puts norm() behind the sum, nothing is normalised here.
  bool is_post_norm() const { return is_post_norm_; }

 private:
  void AddProjections(const BlockContext& context);
  bool HasProjections() const { return attention_->traits().projections != Projections::kNone; }
  bool SpreadsPaddedQueries(const BlockInput& input) const;
  // Whether the method can be asked the first query alone, and answers as among the others.
  bool CanAskOne(const BlockInput& input) const;
  // `window` is that of a stream's filters; null: the input is the whole sequence.
  Qkv Project(const BlockInput& input, at::Tensor* window) const;
  // The rows that the filter takes for zeros are those that the attention leaves out.
  at::Tensor FilteredRows(const BlockInput& input) const;
  // Input() of projected tokens, the first of which stands at position `first`.
  AttentionInput InputAt(int64_t first, Qkv qkv, const BlockInput& input) const;
  // The same with q, k, v as the attention gets them.
  AttentionInput InputWith(const Qkv& qkv, const BlockInput& input) const;

  int64_t index_ = 0;
  bool is_causal_ = false;
  bool is_post_norm_ = false;
  bool has_inner_dropout_ = false;
  ModelConfig::Mask mask_ = ModelConfig::KEYS;
  Norm norm_;
  NormQkvParameters qkv_;
  std::optional<RotaryPositions> rotary_;
  at::Tensor filters_;  // [W, E] or undefined
  LinearMap output_;
  std::shared_ptr<const Attention> attention_;
};

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_ATTENTION_PART_H_
