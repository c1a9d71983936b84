// transformer: exact softmax attention.
// Source: Vaswani et al. 2017, eq. 1; blocked evaluation after Dao et al. 2022.
//   o_i = sum_j softmax_j(q_i . k_j / sqrt(D)) v_j
#include <ATen/ATen.h>

#include <cmath>

#include "lra/status_macros.h"
#include "models/attention/attention.h"
#include "models/attention/options.h"
#include "models/attention/transformer.pb.h"
#include "models/kernels/softmax_attention.h"

namespace lra {
namespace {

Traits MakeTraits() {
  Traits traits;
  traits.label = "Transformer";
  traits.summary = "exact softmax attention, in memory linear in N";
  traits.source = "Vaswani et al. 2017, eq. 1";
  traits.is_exact_softmax = true;
  traits.is_row_stochastic = true;
  traits.is_permutation_invariant = true;
  traits.supports_cross = true;
  traits.supports_weight_dropout = true;
  traits.time_order = "N^2 D";
  traits.memory_order = "N D";
  return traits;
}

class Transformer : public Attention {
 public:
  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    return SoftmaxAttention(input.q, input.k, input.v, input.keep, input.weight_dropout);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    at::Tensor v = input.v;
    at::Tensor scores = at::matmul(input.q, input.k.transpose(-1, -2)) /
                        std::sqrt(static_cast<double>(input.q.size(-1)));
    at::Tensor weights;  // [B, H, N, Nk]
    if (input.keep.defined()) {
      const at::Tensor masked = input.keep.logical_not();
      const at::Tensor masked_keys = masked.view({masked.size(0), 1, 1, -1});
      // Masked weights are 0, and so is a row of nothing but masked keys.
      weights = at::softmax(scores.masked_fill(masked_keys, -1e30), -1).masked_fill(masked_keys, 0);
      v = v.masked_fill(masked.view({masked.size(0), 1, -1, 1}), 0);
    } else {
      weights = at::softmax(scores, -1);
    }
    const DropoutKey& dropout = input.weight_dropout;
    if (dropout.active()) {
      weights =
          weights * WeightDropoutMask(dropout, weights.size(1), weights.size(2), weights.size(3))
                        .to(weights.options());
    }
    return at::matmul(weights, v);
  }

 private:
  const Traits traits_ = MakeTraits();
};

absl::StatusOr<std::unique_ptr<Attention>> MakeTransformer(const AttentionContext& context) {
  LRA_RETURN_IF_ERROR(UnpackOptions<TransformerOptions>(context.options).status());
  return std::make_unique<Transformer>();
}

LRA_REGISTER(AttentionRegistry, "transformer", MakeTransformer);

}  // namespace
}  // namespace lra
