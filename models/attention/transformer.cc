// transformer: exact softmax attention.
// Source: Vaswani et al. 2017, eq. 1; blocked evaluation after Dao et al. 2022.
//   o_i = sum_j softmax_j(q_i . k_j / sqrt(D) - s |i - j|) v_j
// with the slope s of AttentionContext::distance_slopes, or 0 (Press et al. 2022, section 3).
// In the causal form the sum is over j <= i + Nk - N. Streaming keeps all keys and values, so the
// t-th token costs O(t).
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "models/attention/transformer.pb.h"
#include "models/base/host_copy.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/softmax_attention.h"

namespace lra {
namespace {

Traits MakeTraits(const std::vector<double>& slopes) {
  Traits traits;
  traits.label = "Transformer";
  traits.summary = "exact softmax attention, in memory linear in N";
  traits.source = "Vaswani et al. 2017, eq. 1";
  traits.is_exact_softmax = true;
  traits.distance_slopes = slopes;
  traits.is_row_stochastic = true;
  traits.is_permutation_invariant = slopes.empty();
  traits.takes_distance_slopes = true;
  traits.supports_cross = true;
  traits.supports_weight_dropout = true;
  traits.causality = Causality::kOptional;
  traits.supports_streaming = true;
  traits.time_order = "N^2 D";
  traits.memory_order = "N D";
  return traits;
}

// The tensors of a streaming state: keys and values [B, H, capacity, *], and which tokens are real,
// [B, capacity].
enum { kKeys, kValues, kKept };
constexpr int64_t kFirstCapacity = 64;

// Makes room for `tokens` tokens along dimension `dim`, the first `used` of which hold something.
// The capacity at least doubles, so all copying for t tokens is O(t).
void Reserve(int64_t dim, int64_t used, int64_t tokens, at::Tensor* cache) {
  if (cache->size(dim) >= tokens) return;
  std::vector<int64_t> shape = cache->sizes().vec();
  shape[dim] = std::max({kFirstCapacity, 2 * shape[dim], tokens});
  const at::Tensor grown = at::empty(shape, cache->options());
  grown.narrow(dim, 0, used).copy_(cache->narrow(dim, 0, used));
  *cache = grown;
}

// Returns bool, broadcastable to [B, 1, N, Nk]: true where a query sees a key. Undefined means that
// every query sees all keys.
at::Tensor Visible(const AttentionInput& input) {
  const int64_t n = input.q.size(2), keys = input.k.size(2);
  at::Tensor visible;
  if (input.causal) {
    visible = at::ones({1, 1, n, keys}, input.q.options().dtype(at::kBool)).tril(keys - n);
  }
  if (!input.keep.defined()) return visible;
  const at::Tensor kept = input.keep.view({input.keep.size(0), 1, 1, keys});
  return visible.defined() ? visible.logical_and(kept) : kept;
}

class Transformer : public Attention {
 public:
  explicit Transformer(const AttentionContext& context)
      : heads_(context.heads),
        head_width_(context.head_width),
        slopes_(DeviceConstant(context.distance_slopes.empty()
                                   ? at::Tensor()
                                   : at::tensor(context.distance_slopes, at::kDouble))),
        traits_(MakeTraits(context.distance_slopes)) {}
  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    return SoftmaxAttention(input.q, input.k, input.v, input.keep, input.weight_dropout,
                            input.causal, /*bias=*/{}, slopes_.On(input.q.device()));
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    at::Tensor v = input.v;
    at::Tensor scores = at::matmul(input.q, input.k.transpose(-1, -2)) /
                        std::sqrt(static_cast<double>(input.q.size(-1)));
    if (slopes_.defined()) scores = scores - DistancePenalty(scores);
    const at::Tensor visible = Visible(input);
    at::Tensor weights;  // [B, H, N, Nk]
    if (visible.defined()) {
      const at::Tensor hidden = visible.logical_not();
      // The weights of hidden keys are 0, so a row that sees no key is 0, too.
      weights = at::softmax(scores.masked_fill(hidden, -1e30), -1).masked_fill(hidden, 0);
    } else {
      weights = at::softmax(scores, -1);
    }
    if (input.keep.defined()) {
      const at::Tensor masked = input.keep.logical_not();
      v = v.masked_fill(masked.view({masked.size(0), 1, -1, 1}), 0);
    }
    const DropoutKey& dropout = input.weight_dropout;
    if (dropout.active()) {
      weights =
          weights * WeightDropoutMask(dropout, weights.size(1), weights.size(2), weights.size(3))
                        .to(weights.options());
    }
    return at::matmul(weights, v);
  }

  AttentionState InitState(int64_t batch, const at::TensorOptions& options) const override {
    const at::Tensor empty = at::empty({batch, heads_, 0, head_width_}, options);
    return {0, {empty, empty, at::empty({batch, 0}, options.dtype(at::kBool))}};
  }

  at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const override {
    const c10::NoGradGuard no_gradients;
    const int64_t used = state->tokens, added = piece.k.size(2), tokens = used + added;
    at::Tensor& values = state->tensors[kValues];
    if (used == 0 && values.size(3) != piece.v.size(3)) {  // values may have a width of their own
      values = at::empty({values.size(0), values.size(1), 0, piece.v.size(3)}, values.options());
    }
    for (const int which : {kKeys, kValues, kKept})
      Reserve(which == kKept ? 1 : 2, used, tokens, &state->tensors[which]);
    state->tensors[kKeys].narrow(2, used, added).copy_(piece.k);
    values.narrow(2, used, added).copy_(piece.v);
    at::Tensor kept = state->tensors[kKept].narrow(1, used, added);
    piece.keep.defined() ? kept.copy_(piece.keep) : kept.fill_(true);
    state->tokens = tokens;
    // The piece's last query is the last of all tokens, which is how the causal form aligns queries
    // and keys.
    return SoftmaxAttention(piece.q, state->tensors[kKeys].narrow(2, 0, tokens),
                            values.narrow(2, 0, tokens), state->tensors[kKept].narrow(1, 0, tokens),
                            DropoutKey(), true, /*bias=*/{}, slopes_.On(piece.q.device()));
  }

 private:
  // s |i + Nk - N - j| of scores [B, H, N, Nk]: [H, N, Nk].
  at::Tensor DistancePenalty(const at::Tensor& scores) const {
    const int64_t n = scores.size(2), keys = scores.size(3);
    const auto options = scores.options().requires_grad(false);
    const at::Tensor i = at::arange(keys - n, keys, options).unsqueeze(1);
    return slopes_.host().to(options).view({-1, 1, 1}) * (i - at::arange(keys, options)).abs();
  }

  const int64_t heads_, head_width_;
  const DeviceConstant slopes_;  // [H] or undefined
  const Traits traits_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeTransformer(const TransformerOptions&,
                                                           const AttentionContext& context) {
  return std::make_unique<Transformer>(context);
}

LRA_REGISTER_ATTENTION("transformer", TransformerOptions, MakeTransformer);

}  // namespace
}  // namespace lra
