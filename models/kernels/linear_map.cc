#include "models/kernels/linear_map.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/gemm.h"
#include "models/kernels/packed_weights.h"
#include "models/kernels/rows.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr KernelNeeds kMapNeeds = {.follows_autocast = true};

int64_t RowsOf(const at::Tensor& x) { return x.size(-1) == 0 ? 0 : x.numel() / x.size(-1); }

bool IsTiled(const at::Tensor& x, const LinearMap& map) {
  return AreTiled(RowsOf(x)) &&
         DispatchKernel(kMapNeeds, {x, map.weight, map.bias}) != KernelPath::kGeneric;
}

// W^T [in, out] or W [out, in] for products.
PackedMatrix LaidOut(const LinearMap& map, bool is_forward, ProductType type) {
  LRA_CHECK(map.weight.is_contiguous());
  const int64_t to = map.weight.size(0), from = map.weight.size(1);
  const MatrixView weight = {map.weight.const_data_ptr<float>(), from, is_forward};
  return is_forward ? PackedMatrix(to, from, weight, type) : PackedMatrix(from, to, weight, type);
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    const ProductType type = ActiveProductType();
    const LinearMap map = {weight, bias.value_or(at::Tensor())};
    context->save_for_backward({x, weight, map.bias});
    context->saved_data["type"] = static_cast<int64_t>(type);
    std::vector<int64_t> shape = x.sizes().vec();
    shape.back() = weight.size(0);
    at::Tensor out = at::empty(shape, x.options());
    const float* from = x.const_data_ptr<float>();
    float* to = out.mutable_data_ptr<float>();
    const ForwardMap forward(map, type);
    ForShards(RowsOf(x), [&](int64_t, int64_t begin, int64_t end) {
      ForTiles(begin, end, [&](int64_t first, int64_t rows) {
        forward.Rows(from + first * weight.size(1), rows, to + first * weight.size(0));
      });
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const LinearMap map = {saved[1], saved[2]};
    const auto type = static_cast<ProductType>(context->saved_data["type"].toInt());
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor dx = at::empty_like(x);
    const float *from = x.const_data_ptr<float>(), *upstream = gradient.const_data_ptr<float>();
    float* to = dx.mutable_data_ptr<float>();
    const int64_t in = map.weight.size(1), out = map.weight.size(0);
    MapGradient sums(map, type);
    const BackwardMap backward(map, type);
    ForShards(RowsOf(x), [&](int64_t shard, int64_t begin, int64_t end) {
      ForTiles(begin, end, [&](int64_t first, int64_t rows) {
        sums.Add(from + first * in, upstream + first * out, rows, map, shard);
        backward.Rows(upstream + first * out, rows, 0.0f, to + first * in);
      });
    });
    return {dx, sums.weight.Total(), sums.bias.Total()};
  }
};

}  // namespace

at::Tensor ApplyLinear(const at::Tensor& x, const LinearMap& map) {
  LRA_CHECK(map.weight.dim() == 2 && x.size(-1) == map.weight.size(1))
      << "x is " << x.sizes() << ", the weight " << map.weight.sizes();
  if (!IsTiled(x, map)) return at::linear(x, map.weight, IfDefined(map.bias)).to(x.scalar_type());
  return LinearFunction::apply(x.contiguous(), map.weight.contiguous(), IfDefined(map.bias));
}

bool AreTiled(int64_t rows) {
  return rows >= kTileTokens || ActiveProductType() == ProductType::kBfloat16;
}

ForwardMap::ForwardMap(const LinearMap& map, ProductType type)
    : found_(PackedWeightsScope::Find(map.weight, type)),
      own_(found_ == nullptr ? std::optional(LaidOut(map, /*is_forward=*/true, type))
                             : std::nullopt),
      bias_(map.bias) {}

void ForwardMap::Rows(const float* x, int64_t rows, float* out) const {
  const PackedMatrix& weight = found_ == nullptr ? *own_ : *found_;
  const float* bias = bias_.defined() ? bias_.const_data_ptr<float>() : nullptr;
  Gemm(rows, {x, weight.k()}, weight, bias, 0.0f, out, weight.n());
}

BackwardMap::BackwardMap(const LinearMap& map, ProductType type)
    : weight_(LaidOut(map, /*is_forward=*/false, type)) {}

void BackwardMap::Rows(const float* gradient, int64_t rows, float beta, float* dx) const {
  Gemm(rows, {gradient, weight_.k()}, weight_, nullptr, beta, dx, weight_.n());
}

void MapGradient::Add(const float* x, const float* gradient, int64_t rows, const LinearMap& map,
                      int64_t shard) {
  const int64_t to = map.weight.size(0), from = map.weight.size(1);
  Gemm(to, from, rows, {gradient, to, true}, {x, from}, 1.0f, weight.At(shard), from, type);
  if (bias.defined()) AddColumnSums(gradient, rows, to, bias.At(shard));
}

}  // namespace lra
