#include "models/attention/sinkhorn_blocks.h"

#include <ATen/ATen.h>

#include <cmath>

#include "models/kernels/softmax_attention.h"
#include "models/kernels/token_projection.h"

namespace lra {

SinkhornBlocks::SinkhornBlocks(const AttentionInput& input, int64_t block_tokens) {
  TORCH_CHECK(input.q.size(2) == input.k.size(2), "sinkhorn: ", input.q.size(2), " queries and ",
              input.k.size(2), " keys; it has no cross-attention");
  const int64_t tokens = input.k.size(2),
                pads = (block_tokens - tokens % block_tokens) % block_tokens;
  const auto cut = [&](const at::Tensor& x) {
    return at::constant_pad_nd(x, {0, 0, 0, pads}).unflatten(2, {-1, block_tokens});
  };
  q = cut(input.q);
  k = cut(SelectTokens(input.k, input.keep));
  v = cut(SelectTokens(input.v, input.keep));
  const at::Tensor all = input.keep.defined()
                             ? input.keep
                             : at::ones({input.k.size(0), tokens},
                                        input.k.options().dtype(at::kBool).requires_grad(false));
  keep = at::constant_pad_nd(all, {0, pads}).unflatten(1, {-1, block_tokens});
}

at::Tensor AttendInBlocks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& keep) {
  const auto fold = [](const at::Tensor& x) { return x.transpose(1, 2).flatten(0, 1); };
  return SoftmaxAttention(fold(q), fold(k), fold(v), keep.flatten(0, 1), DropoutKey())
      .unflatten(0, {q.size(0), -1})
      .transpose(1, 2);
}

at::Tensor AttendInBlocksCausally(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const at::Tensor& keep) {
  const int64_t queries = q.size(3), keys = k.size(3);
  at::Tensor future = at::ones({queries, keys}, keep.options()).triu(1);
  future.slice(1, queries).fill_(false);
  const at::Tensor masked = keep.logical_not().unsqueeze(1).unsqueeze(3).logical_or(future);
  const at::Tensor logits =
      at::matmul(q / std::sqrt(static_cast<double>(q.size(4))), k.transpose(-1, -2));
  const at::Tensor weights = at::softmax(logits.masked_fill(masked, -1e30), -1);
  return at::matmul(weights.masked_fill(masked, 0), v);
}

}  // namespace lra
