#include "models/kernels/dilated_convolution.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
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
    const TapWeights weights = ForwardTaps(s, map);
    ConvolutionTiles(x, ends).ForEach(0, x.size(0), [&](int64_t, const ConvolutionTile& tile) {
      ConvolveTile(s, tile, from, weights, map.bias, to + tile.row * s.out);
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
    const TapWeights weights = BackwardTaps(s, map);
    ConvolutionTiles(x, saved[3])
        .ForEach(0, x.size(0), [&](int64_t shard, const ConvolutionTile& tile) {
          AddConvolutionGradient(s, tile, from, {gradients}, shard, &sums);
          ConvolveBackTile(s, tile, {gradients}, weights, to + tile.row * s.in);
        });
    return {dx, sums.weight.Total(), sums.bias.Total(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

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
