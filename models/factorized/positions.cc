#include "models/factorized/positions.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>

#include <numbers>

namespace lra::factorized {
namespace {

// The length of each example, [B, 1] or [1, 1] float64: one more than the last position that a key
// stands at, however many masked ones lie before it, for a distance must not exceed it. Queries of
// another sequence than the keys' all count; those of the same one are masked where its keys are.
at::Tensor OwnLength(const AttentionInput& input) {
  const int64_t keys = input.k.size(2), queries = input.q.size(2);
  const auto options = input.k.options().dtype(at::kDouble);
  at::Tensor ends = at::arange(1, keys + 1, options).unsqueeze(0);
  if (input.keep.defined()) ends = ends * input.keep.to(at::kDouble);
  return ends.amax(1, true).clamp_min(queries == keys || input.causal ? 1 : queries);
}

// Counts [B or 1, N] with those of earlier pieces: [B or 1, 1, N, 1], float64.
at::Tensor AtLeastOne(const at::Tensor& counts, const Offsets& offsets) {
  at::Tensor seen = counts.to(at::kDouble);
  if (offsets.seen.defined()) seen = seen + offsets.seen.unsqueeze(1);
  return seen.clamp_min(1).unsqueeze(1).unsqueeze(-1);
}

}  // namespace

Offsets OffsetsOf(const AttentionInput& input) {
  Offsets offsets;
  if (input.causal) offsets.query = input.k.size(2) - input.q.size(2);
  return offsets;
}

at::Tensor Angles(const FactorizedSpec& spec, const AttentionInput& input, int64_t n,
                  int64_t offset) {
  TORCH_CHECK(spec.scale_tokens == 0 || n + offset <= spec.scale_tokens, "attention: ", n + offset,
              " tokens exceed M = ", spec.scale_tokens,
              "; set attention.options.scale_tokens to at least the longest sequence");
  const at::Tensor positions =
      at::arange(offset, offset + n, input.q.options().dtype(at::kDouble)) * (std::numbers::pi / 2);
  if (spec.learned_scale.defined()) {
    const at::Tensor scale = spec.learned_scale.to(at::kDouble).exp() + 1;
    return positions / (static_cast<double>(spec.scale_tokens) * scale.view({1, -1, 1}));
  }
  if (spec.scale_tokens > 0) return positions / static_cast<double>(spec.scale_tokens);
  return positions / OwnLength(input);
}

at::Tensor LogDecay(const FactorizedSpec& spec) {
  if (!spec.learned_scale.defined()) return spec.log_decay.to(at::kDouble);
  return spec.log_decay.to(spec.learned_scale.device()) *
         at::exp(-spec.learned_scale.to(at::kDouble));
}

at::Tensor SeenByKeys(const AttentionInput& input, const Offsets& offsets) {
  // Integers, because CUDA adds up floats in no fixed order here.
  const at::Tensor seen =
      input.keep.defined()
          ? input.keep.cumsum(1)
          : at::arange(1, input.k.size(2) + 1, input.k.options().dtype(at::kLong)).unsqueeze(0);
  return AtLeastOne(seen, offsets);
}

at::Tensor SeenByQueries(const AttentionInput& input, const Offsets& offsets) {
  const int64_t n = input.q.size(2), keys = input.k.size(2);
  if (!input.causal) {
    const at::Tensor seen = input.keep.defined()
                                ? input.keep.sum(1, /*keepdim=*/true)
                                : at::full({1, 1}, keys, input.k.options().dtype(at::kLong));
    return AtLeastOne(seen, offsets);
  }
  const at::Tensor seen = SeenByKeys(input, offsets);
  if (n == keys) return seen;
  if (n < keys) return seen.narrow(2, keys - n, n);
  return at::constant_pad_nd(seen, {0, 0, n - keys, 0}, 1.0);  // the first queries see no key
}

}  // namespace lra::factorized
