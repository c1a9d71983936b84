#include "models/attention/sinkhorn_blocks.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>

#include "models/kernels/select_kept.h"

namespace lra {

SinkhornBlocks::SinkhornBlocks(const AttentionInput& input, int64_t block_tokens) {
  TORCH_CHECK(input.q.size(2) == input.k.size(2), "sinkhorn: ", input.q.size(2), " queries and ",
              input.k.size(2), " keys; it has no cross-attention");
  const int64_t tokens = input.k.size(2),
                pads = (block_tokens - tokens % block_tokens) % block_tokens;
  const auto cut = [&](const at::Tensor& x) {
    return (pads == 0 ? x : at::constant_pad_nd(x, {0, 0, 0, pads}))
        .unflatten(2, {-1, block_tokens});
  };
  q = cut(input.q);
  k = cut(SelectKept(input.k, input.keep));
  v = cut(SelectKept(input.v, input.keep));
  const at::Tensor all = input.keep.defined()
                             ? input.keep
                             : at::ones({input.k.size(0), tokens},
                                        input.k.options().dtype(at::kBool).requires_grad(false));
  keep = at::constant_pad_nd(all, {0, pads}).unflatten(1, {-1, block_tokens});
  is_full = pads == 0 && !input.keep.defined();
}

}  // namespace lra
