// Dilated convolutions by ATen, on any device: the tokens with what their taps find before and
// behind them, and one product or one convolution of these.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "models/base/device_work.h"
#include "models/base/optional_tensor.h"
#include "models/base/runtime.h"
#include "models/kernels/dilated_convolution.h"

namespace lra {
namespace {

using internal::ConvolutionForm;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Taps that read from each token what `taps` brings to it.
DilatedTaps Reversed(const DilatedTaps& taps) {
  return {taps.taps, taps.taps - 1 - taps.own, taps.dilation, taps.is_circular};
}

// W_t transposed for Reversed(): [F, taps E] -> [E, taps F].
at::Tensor Reversed(const at::Tensor& weight, const DilatedTaps& taps) {
  const int64_t out = weight.size(0), in = weight.size(1) / taps.taps;
  return weight.view({out, taps.taps, in}).flip(1).permute({2, 1, 0}).reshape({in, -1});
}

// True at the tokens of sequences of such lengths: [B, N, 1].
at::Tensor IsReal(const at::Tensor& lengths, int64_t tokens) {
  return at::arange(tokens, lengths.options()).lt(lengths.unsqueeze(1)).unsqueeze(2);
}

at::Tensor ZeroUnless(const at::Tensor& is_kept, const at::Tensor& x) {
  return at::where(is_kept, x, at::zeros({}, x.options()));
}

// Rows of x [B, N, E] from `before` in front of each sequence to `after` behind token N - 1, as
// taps find them there: [B, before + N + after, E].
at::Tensor Surrounded(const at::Tensor& x, const at::Tensor& lengths, const DilatedTaps& taps) {
  const int64_t batch = x.size(0), tokens = x.size(1), width = x.size(2);
  const int64_t before = -taps.Offset(0), after = taps.Offset(taps.taps - 1);
  if (!lengths.defined() && !taps.is_circular)
    return at::constant_pad_nd(x, {0, 0, before, after}, 0);
  if (!lengths.defined() && std::max(before, after) <= tokens)
    return at::cat({x.narrow(1, tokens - before, before), x, x.narrow(1, 0, after)}, 1);
  const at::TensorOptions whole = x.options().dtype(at::kLong);
  const at::Tensor last =
      (lengths.defined() ? lengths : at::full({1}, tokens, whole)).unsqueeze(1);  // [B or 1, 1]
  const at::Tensor sought = at::arange(-before, tokens + after, whole).unsqueeze(0);
  const at::Tensor read = taps.is_circular ? sought.remainder(last.clamp_min(1)) : sought;
  const at::Tensor rows =
      at::arange(batch, whole).unsqueeze(1) * tokens + read.clamp(0, tokens - 1);
  const at::Tensor found = at::index_select(x.reshape({-1, width}), 0, rows.flatten());
  return ZeroUnless(read.ge(0).logical_and(read.lt(last)).unsqueeze(2),
                    found.view({batch, before + tokens + after, width}));
}

// Rows as a picture of one line, without a copy: [B, N, E] -> [B, E, 1, N]. Its channels stand last
// in memory, where cuDNN has products of all channels at once.
at::Tensor AsPicture(const at::Tensor& x) { return x.unsqueeze(1).permute({0, 3, 1, 2}); }
at::Tensor AsRows(const at::Tensor& picture) {
  return picture.permute({0, 2, 3, 1}).squeeze(1).contiguous();
}
at::Tensor AsFilters(const at::Tensor& weight, int64_t taps) {
  return AsPicture(weight.view({weight.size(0), taps, -1}));
}

int64_t TokensOf(const at::Tensor& surrounded, const DilatedTaps& taps) {
  return surrounded.size(1) - taps.Offset(taps.taps - 1) + taps.Offset(0);
}

// What each token reads, side by side: [B, before + N + after, E] -> [B N, taps E].
at::Tensor Columns(const at::Tensor& surrounded, const DilatedTaps& taps) {
  const int64_t batch = surrounded.size(0), rows = surrounded.size(1), width = surrounded.size(2);
  const int64_t tokens = TokensOf(surrounded, taps);
  return surrounded
      .as_strided({batch, tokens, taps.taps, width},
                  {rows * width, width, taps.dilation * width, 1})
      .reshape({batch * tokens, taps.taps * width});
}

// surrounded [B, before + N + after, E], weight [F, taps E] -> [B, N, F].
at::Tensor Convolved(ConvolutionForm form, const at::Tensor& surrounded, const at::Tensor& weight,
                     const DilatedTaps& taps) {
  if (form == ConvolutionForm::kConvolution) {
    return AsRows(at::convolution(AsPicture(surrounded), AsFilters(weight, taps.taps), {}, {1, 1},
                                  {0, 0}, {1, taps.dilation}, false, {0, 0}, 1));
  }
  return at::mm(Columns(surrounded, taps), weight.t())
      .view({surrounded.size(0), TokensOf(surrounded, taps), weight.size(0)});
}

// The gradient of `weight` for that of the output, dy [B, N, F].
at::Tensor WeightGradient(ConvolutionForm form, const at::Tensor& surrounded,
                          const at::Tensor& weight, const at::Tensor& dy, const DilatedTaps& taps) {
  if (form == ConvolutionForm::kColumns)
    return at::mm(dy.flatten(0, 1).t(), Columns(surrounded, taps));
  const at::Tensor filters = std::get<1>(at::convolution_backward(
      AsPicture(dy), AsPicture(surrounded), AsFilters(weight, taps.taps), at::OptionalIntArrayRef(),
      {1, 1}, {0, 0}, {1, taps.dilation}, false, {0, 0}, 1, {false, true, false}));
  return AsRows(filters).reshape(weight.sizes());
}

// The type of the factors of products of x's device, now.
at::ScalarType FactorType(const at::Tensor& x) {
  const bool is_lowered = x.scalar_type() == at::kFloat && IsAutocastOn(x.device().type());
  return is_lowered ? at::kBFloat16 : x.scalar_type();
}

// Which is the faster one on a card (docs/performance.md): cuDNN's convolution where factors are
// rounded and rows are wide.
ConvolutionForm FormFor(const at::Tensor& x) {
  constexpr int64_t kWide = 128;
  const bool is_rounded = IsTf32On() || FactorType(x) == at::kBFloat16;
  return x.is_cuda() && is_rounded && x.size(2) >= kWide ? ConvolutionForm::kConvolution
                                                         : ConvolutionForm::kColumns;
}

class GenericFunction : public torch::autograd::Function<GenericFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            const std::optional<at::Tensor>& lengths, DilatedTaps taps,
                            ConvolutionForm form) {
    const at::Tensor ends = lengths.value_or(at::Tensor());
    const at::ScalarType type = FactorType(x);
    context->save_for_backward({x, weight, ends});
    context->saved_data["taps"] = taps.Numbers();
    context->saved_data["type"] = static_cast<int64_t>(type);
    context->saved_data["form"] = static_cast<int64_t>(form);
    context->saved_data["has bias"] = bias.has_value();
    at::Tensor y = Convolved(form, Surrounded(x.to(type), ends, taps), weight.to(type), taps)
                       .to(x.scalar_type());
    if (bias.has_value()) y.add_(*bias);
    return ends.defined() ? ZeroUnless(IsReal(ends, x.size(1)), y) : y;
  }

  // The gradient of x is a convolution, too: LibTorch's own of a gathering is a sum over sorted
  // rows where equal runs are to give equal bits.
  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &ends = saved[2];
    const DilatedTaps taps = DilatedTaps::Of(context->saved_data["taps"].toIntVector());
    const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    const auto form = static_cast<ConvolutionForm>(context->saved_data["form"].toInt());
    const at::Tensor real = ends.defined() ? IsReal(ends, x.size(1)) : ends;
    const at::Tensor whole = real.defined() ? ZeroUnless(real, upstream[0]) : upstream[0];
    const at::Tensor dy = whole.to(type).contiguous(), factors = weight.to(type);
    at::Tensor dx = Convolved(form, Surrounded(dy, ends, Reversed(taps)), Reversed(factors, taps),
                              Reversed(taps))
                        .to(x.scalar_type());
    if (real.defined()) dx = ZeroUnless(real, dx);
    const at::Tensor dweight =
        WeightGradient(form, Surrounded(x.to(type), ends, taps), factors, dy, taps);
    const bool has_bias = context->saved_data["has bias"].toBool();
    return {dx,
            dweight.to(weight.scalar_type()),
            has_bias ? whole.sum(at::IntArrayRef({0, 1})) : at::Tensor(),
            at::Tensor(),
            at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

at::Tensor internal::DilatedConvolutionBy(ConvolutionForm form, const at::Tensor& x,
                                          const LinearMap& map, const at::Tensor& lengths,
                                          const DilatedTaps& taps) {
  return GenericFunction::apply(x.contiguous(), map.weight.contiguous(), IfDefined(map.bias),
                                IfDefined(lengths), taps, form);
}

at::Tensor internal::DilatedConvolutionGeneric(const at::Tensor& x, const LinearMap& map,
                                               const at::Tensor& lengths, const DilatedTaps& taps) {
  return DilatedConvolutionBy(FormFor(x), x, map, lengths, taps);
}

}  // namespace lra
