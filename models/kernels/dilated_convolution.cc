#include "models/kernels/dilated_convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/dilated_tiles.h"
#include "models/kernels/dispatch.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr KernelNeeds kConvolutionNeeds = {.follows_autocast = true};

class DilatedConvolutionFunction : public torch::autograd::Function<DilatedConvolutionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            const std::optional<at::Tensor>& lengths, DilatedTaps taps) {
    const LinearMap map = {weight, bias.value_or(at::Tensor())};
    const ConvolutionShape s = {x.size(1), x.size(2), weight.size(0), taps, ActiveProductType()};
    const at::Tensor ends = lengths.value_or(at::Tensor());
    context->save_for_backward({x, weight, map.bias, ends});
    context->saved_data["taps"] = taps.Numbers();
    context->saved_data["type"] = static_cast<int64_t>(s.type);
    const at::Tensor y = at::empty({x.size(0), s.tokens, s.out}, x.options());
    const float* from = x.const_data_ptr<float>();
    float* to = y.mutable_data_ptr<float>();
    ConvolutionTiles(x, ends).ForEach(0, x.size(0), [&](int64_t, const ConvolutionTile& tile) {
      ConvolveTile(s, tile, from, map, to + tile.row * s.out);
    });
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const LinearMap map = {saved[1], saved[2]};
    const ConvolutionShape s = {x.size(1), x.size(2), map.weight.size(0),
                                DilatedTaps::Of(context->saved_data["taps"].toIntVector()),
                                static_cast<ProductType>(context->saved_data["type"].toInt())};
    const at::Tensor dy = upstream[0].contiguous(), dx = at::empty_like(x);
    const float *from = x.const_data_ptr<float>(), *gradients = dy.const_data_ptr<float>();
    float* to = dx.mutable_data_ptr<float>();
    MapGradient sums(map, s.type);
    ConvolutionTiles(x, saved[3])
        .ForEach(0, x.size(0), [&](int64_t shard, const ConvolutionTile& tile) {
          AddConvolutionGradient(s, tile, from, {gradients}, shard, &sums);
          ConvolveBackTile(s, tile, {gradients}, map, to + tile.row * s.in);
        });
    return {dx, sums.weight.Total(), sums.bias.Total(), at::Tensor(), at::Tensor()};
  }
};

// What the taps of each token read of sequences that end at `ends`, [B or 1, 1]: token n + offset.
struct Reach {
  at::Tensor tokens, exists;  // [B or 1, N, taps]
};

Reach ReachOf(const at::Tensor& ends, int64_t tokens, const DilatedTaps& taps, int64_t direction) {
  const at::Tensor places = at::arange(tokens, ends.options()).unsqueeze(1);  // [N, 1]
  const at::Tensor offsets =
      (at::arange(taps.taps, ends.options()) - taps.own) * (taps.dilation * direction);
  const at::Tensor last = ends.unsqueeze(2), sought = (places + offsets).unsqueeze(0);
  const at::Tensor read = taps.is_circular ? sought.remainder(last.clamp_min(1)) : sought;
  return {read.clamp(0, tokens - 1),
          read.ge(0).logical_and(read.lt(last)).logical_and(places.lt(last))};
}

// y_n = sum_t mapped_{n + offset(t), t}: mapped [B, N, taps, F] -> [B, N, F]. A gathering in both
// directions: LibTorch's gradient of one is a sum over sorted rows where equal runs are to give
// equal bits.
class SumOfTaps : public torch::autograd::Function<SumOfTaps> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& mapped,
                            const at::Tensor& ends, DilatedTaps taps) {
    context->save_for_backward({ends});
    context->saved_data["taps"] = taps.Numbers();
    const int64_t batch = mapped.size(0), tokens = mapped.size(1);
    const Reach reach = ReachOf(ends, tokens, taps, 1);
    const at::Tensor rows = (Examples(batch, tokens, ends) + reach.tokens) * taps.taps +
                            at::arange(taps.taps, ends.options());
    return Read(mapped.reshape({-1, mapped.size(3)}), rows, reach).sum(2);
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const at::Tensor ends = context->get_saved_variables()[0], &dy = upstream[0];
    const DilatedTaps taps = DilatedTaps::Of(context->saved_data["taps"].toIntVector());
    const int64_t batch = dy.size(0), tokens = dy.size(1);
    const Reach reach = ReachOf(ends, tokens, taps, -1);
    const at::Tensor rows = Examples(batch, tokens, ends) + reach.tokens;
    return {Read(dy.reshape({-1, dy.size(2)}), rows, reach), at::Tensor(), at::Tensor()};
  }

 private:
  // The first row of each example, [B, 1, 1].
  static at::Tensor Examples(int64_t batch, int64_t tokens, const at::Tensor& like) {
    return at::arange(batch, like.options()).view({-1, 1, 1}) * tokens;
  }
  // The rows [B, N, taps] of x [R, F], zeros where there is none: [B, N, taps, F].
  static at::Tensor Read(const at::Tensor& x, const at::Tensor& rows, const Reach& reach) {
    const at::Tensor read = at::index_select(x, 0, rows.flatten());
    return at::where(reach.exists.unsqueeze(3),
                     read.view({rows.size(0), rows.size(1), rows.size(2), x.size(1)}),
                     at::zeros({}, x.options()));
  }
};

}  // namespace

// Mapped before they are gathered, tokens need not be kept once for each tap.
at::Tensor internal::DilatedConvolutionGeneric(const at::Tensor& x, const LinearMap& map,
                                               const at::Tensor& lengths, const DilatedTaps& taps) {
  const int64_t batch = x.size(0), tokens = x.size(1), in = x.size(2), out = map.weight.size(0);
  const at::TensorOptions whole = x.options().dtype(at::kLong).requires_grad(false);
  const at::Tensor ends =
      (lengths.defined() ? lengths : at::full({1}, tokens, whole)).unsqueeze(1);  // [B or 1, 1]
  const at::Tensor real = at::arange(tokens, whole).lt(ends).unsqueeze(2);        // [B or 1, N, 1]
  const at::Tensor nothing = at::zeros({}, x.options().requires_grad(false));
  const at::Tensor seen = lengths.defined() ? at::where(real, x, nothing) : x;
  const at::Tensor by_tap =
      map.weight.view({out, taps.taps, in}).transpose(0, 1).reshape({taps.taps * out, in});
  const at::Tensor mapped = ApplyLinear(seen, {by_tap, at::Tensor()});
  at::Tensor y = SumOfTaps::apply(mapped.view({batch, tokens, taps.taps, out}), ends, taps);
  if (map.bias.defined()) y = y + map.bias.to(y.scalar_type());
  return lengths.defined() ? at::where(real, y, nothing) : y;
}

at::Tensor DilatedConvolution(const at::Tensor& x, const LinearMap& map, const at::Tensor& lengths,
                              const DilatedTaps& taps) {
  LRA_CHECK(x.dim() == 3 && map.weight.dim() == 2 && map.weight.size(1) == taps.taps * x.size(2) &&
            taps.own >= 0 && taps.own < taps.taps && taps.dilation >= 1);
  if (DispatchKernel(kConvolutionNeeds, {x, map.weight, map.bias}) == KernelPath::kGeneric)
    return internal::DilatedConvolutionGeneric(x, map, lengths, taps);
  return DilatedConvolutionFunction::apply(x.contiguous(), map.weight.contiguous(),
                                           IfDefined(map.bias), IfDefined(lengths), taps);
}

}  // namespace lra
