#include "models/kernels/token_projection.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "lra/check.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/gemm.h"
#include "models/kernels/head_rows.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kProjectedTokens = 128;  // in work together: they stay in the cache

// One map [R, N] for all heads. Forward: heads in parallel, tile of tokens after tile; backward:
// tiles of tokens in parallel, head after head, so that no sum depends on the number of threads.
class SharedProjection : public torch::autograd::Function<SharedProjection> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& map, const at::Tensor& x) {
    const at::Tensor rows = map.stride(1) == 1 ? map : map.contiguous();
    context->save_for_backward({rows, x});
    const int64_t rank = map.size(0), tokens = x.size(2), width = x.size(3), heads = x.size(1);
    at::Tensor out = at::empty({x.size(0), heads, rank, width}, x.options());
    const HeadRows from(x), to(out);
    const float* weights = rows.const_data_ptr<float>();
    at::parallel_for(0, x.size(0) * heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* sums = to.At(i / heads, i % heads, 0);
        for (int64_t first = 0; first < tokens; first += kProjectedTokens) {
          Gemm(rank, width, std::min(kProjectedTokens, tokens - first),
               {weights + first, rows.stride(0)},
               {from.At(i / heads, i % heads, first), from.stride()}, first == 0 ? 0.0f : 1.0f,
               sums, to.stride());
        }
      }
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &map = saved[0], &x = saved[1];
    const int64_t rank = map.size(0), tokens = x.size(2), width = x.size(3), heads = x.size(1);
    const at::Tensor dx = EmptyHeads(x, width);
    at::Tensor dmap = at::empty({rank, tokens}, map.options().requires_grad(false)).zero_();
    const HeadRows from(x), gradients(upstream[0]), to(dx);
    const float* weights = map.const_data_ptr<float>();
    float* map_gradient = dmap.mutable_data_ptr<float>();
    const int64_t tiles = (tokens + kProjectedTokens - 1) / kProjectedTokens;
    at::parallel_for(0, tiles, 1, [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile) {
        const int64_t first = tile * kProjectedTokens;
        const int64_t count = std::min(kProjectedTokens, tokens - first);
        for (int64_t i = 0; i < x.size(0) * heads; ++i) {
          const MatrixView gradient = {gradients.At(i / heads, i % heads, 0), gradients.stride()};
          Gemm(rank, count, width, gradient,
               {from.At(i / heads, i % heads, first), from.stride(), true}, 1.0f,
               map_gradient + first, tokens);
          Gemm(count, width, rank, {weights + first, map.stride(0), true}, gradient, 0.0f,
               to.At(i / heads, i % heads, first), to.stride());
        }
      }
    });
    return {dmap, dx};
  }
};

}  // namespace

namespace internal {

at::Tensor ProjectTokensGeneric(const at::Tensor& map, const at::Tensor& x) {
  if (map.dim() == 4) return at::matmul(map, x);
  const int64_t batch = x.size(0), heads = x.size(1), tokens = x.size(2), width = x.size(3);
  const at::Tensor folded = x.transpose(1, 2).reshape({batch, tokens, heads * width});
  return at::matmul(map, folded).view({batch, map.size(-2), heads, width}).transpose(1, 2);
}

}  // namespace internal

at::Tensor ProjectTokens(const at::Tensor& map, const at::Tensor& x) {
  LRA_CHECK(x.dim() == 4 && map.size(-1) == x.size(2))
      << "x is " << x.sizes() << ", the map " << map.sizes();
  const bool is_tiled =
      map.dim() == 2 && DispatchKernel(KernelNeeds(), {x, map}) != KernelPath::kGeneric;
  return is_tiled ? SharedProjection::apply(map, x) : internal::ProjectTokensGeneric(map, x);
}

}  // namespace lra
