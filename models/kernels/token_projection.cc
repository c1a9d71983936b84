#include "models/kernels/token_projection.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>

namespace lra {

at::Tensor ProjectTokens(const at::Tensor& map, const at::Tensor& x) {
  if (map.dim() == 4) return at::matmul(map, x);
  const int64_t batch = x.size(0), heads = x.size(1), tokens = x.size(2), width = x.size(3);
  const at::Tensor folded = x.transpose(1, 2).reshape({batch, tokens, heads * width});
  return at::matmul(map, folded).view({batch, map.size(-2), heads, width}).transpose(1, 2);
}

}  // namespace lra
