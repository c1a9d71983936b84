// What stands around a function f of a block:
//   norm_placement BEFORE: y = x + drop(f(norm(x)))
//   norm_placement AFTER:  y = norm(x + drop(f(x)))
// and what padding is to f. Enter() gives what f gets, Leave() takes what f made of it.
#ifndef LRA_MODELS_LAYERS_RESIDUAL_H_
#define LRA_MODELS_LAYERS_RESIDUAL_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "models/interface/block.h"
#include "models/layers/dropout_sites.h"
#include "models/layers/norm.h"

namespace lra {

class Residual {
 public:
  // Creates the norm, <scope><norm>.*. A block of several functions gives each a name and a place.
  explicit Residual(const BlockContext& context, absl::string_view norm = "norm",
                    LayerSite place = LayerSite::kAttentionOutput);

  // Tokens that others may see: [B, N] bool; undefined: all of them. Under model.mask NO_MASK
  // padding is a token like any other; OUTER, which is about weights of queries, is KEYS here.
  at::Tensor Keep(const BlockInput& input) const;
  // Whether the norm is a layer norm in front of f: what fused forms take, with norm() and Key().
  bool is_plain() const { return !is_post_norm_ && norm_.is_layer_norm(); }
  const Norm& norm() const { return norm_; }
  DropoutKey Key(const DropoutRun& run) const;

  // [B, N, E]. Tokens that nobody may see are 0: whatever they hold gets no further, nor its
  // gradient.
  at::Tensor Enter(const BlockInput& input) const;
  // [B, N, E], f [B, N, E].
  at::Tensor Leave(const at::Tensor& f, const BlockInput& input) const;

  // The two from the definition, for oracles.
  at::Tensor EnterOracle(const BlockInput& input) const;
  at::Tensor LeaveOracle(const at::Tensor& f, const BlockInput& input) const;

  // is_causal (asked for by attention.causal) and the fields about padding, for f that sees no more
  // than Keep() lets it see.
  BlockTraits TraitsOfBlock() const;
  int64_t ParameterCount() const;

 private:
  int64_t index_;
  LayerSite place_;
  bool is_causal_, is_post_norm_, is_masked_;
  Norm norm_;
};

// For factories of blocks that use no attention: InvalidArgument where one is configured, so that
// no run is called by the name of a method that it does not contain.
absl::Status RefuseAttention(absl::string_view block, const BlockContext& context);

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_RESIDUAL_H_
