#include "models/kernels/token_convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "lra/check.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/floats.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/lane_tiles.h"
#include "models/kernels/tile_product.h"

namespace lra {
namespace {

constexpr int64_t kConvolvedTokens = 128;  // in work together: they stay in the cache
constexpr int64_t kOutputBlock = 8;        // tokens of one product
constexpr int64_t kBandTokens = 64;        // the same on a device

// Convolves the tokens of one head; scratch of one thread. A block of kOutputBlock outputs is the
// product of a band, [output][input], with the inputs that it reaches.
class TokenConvolver {
 public:
  TokenConvolver(int64_t width, int64_t taps)
      : width_(width),
        padded_width_(RoundUp(width, kLaneFloats)),
        taps_(taps),
        reach_(RoundUp(taps, kTapBlock)),
        band_(kOutputBlock * (taps + kOutputBlock - 1)),
        inputs_((kConvolvedTokens + reach_) * padded_width_),
        outputs_(kConvolvedTokens * padded_width_),
        sums_(reach_ * kLaneFloats) {}

  // y = residual (unless null) + the convolution of x; if is_flipped, with the filter reversed.
  void Convolve(const float* filter, bool is_flipped, const RowsView& x, int64_t tokens,
                const RowsView* residual, const RowsView& y) {
    const int64_t inner = taps_ + kOutputBlock - 1;
    std::fill_n(band_.get(), kOutputBlock * inner, 0.0f);
    for (int64_t r = 0; r < kOutputBlock; ++r) {
      for (int64_t t = 0; t < taps_; ++t)
        band_.get()[r * inner + r + t] = filter[is_flipped ? taps_ - 1 - t : t];
    }
    for (int64_t first = 0; first < tokens; first += kConvolvedTokens) {
      const int64_t count = std::min(kConvolvedTokens, tokens - first);
      Load(x, first - taps_ / 2, tokens);
      LoadOutputs(residual, first, count);
      for (int64_t row = 0; row < count; row += kOutputBlock) {
        MultiplyTile({kOutputBlock, inner, padded_width_, band_.get(), inner, false,
                      inputs_.get() + row * padded_width_, padded_width_, nullptr,
                      outputs_.get() + row * padded_width_, padded_width_});
      }
      for (int64_t i = 0; i < count; ++i)
        std::copy_n(outputs_.get() + i * padded_width_, width_, y.data + (first + i) * y.stride);
    }
  }

  // gradient_t += sum_n upstream_n . x_{n + t - taps / 2}.
  void AddFilterGradient(const RowsView& upstream, const RowsView& x, int64_t tokens,
                         float* gradient) {
    std::fill_n(sums_.get(), reach_ * kLaneFloats, 0.0f);
    for (int64_t first = 0; first < tokens; first += kConvolvedTokens) {
      const int64_t count = std::min(kConvolvedTokens, tokens - first);
      Load(x, first - taps_ / 2, tokens);
      LoadOutputs(&upstream, first, count);
      for (int64_t t = 0; t < reach_; t += kTapBlock) {
        AddTapProducts(count, padded_width_, outputs_.get(), inputs_.get() + t * padded_width_,
                       sums_.get() + t * kLaneFloats);
      }
    }
    for (int64_t t = 0; t < taps_; ++t) {
      for (int64_t i = 0; i < kLaneFloats; ++i) gradient[t] += sums_.get()[t * kLaneFloats + i];
    }
  }

 private:
  static constexpr int64_t kLaneFloats = 16;

  // inputs_ = the rows of x from token `first` on, 0 outside of the sequence.
  void Load(const RowsView& x, int64_t first, int64_t tokens) {
    float* row = inputs_.get();
    for (int64_t n = first; n < first + kConvolvedTokens + reach_; ++n, row += padded_width_) {
      const bool is_there = n >= 0 && n < tokens;
      if (is_there) std::copy_n(x.data + n * x.stride, width_, row);
      std::fill(row + (is_there ? width_ : 0), row + padded_width_, 0.0f);
    }
  }

  // outputs_ = rows, or 0.
  void LoadOutputs(const RowsView* rows, int64_t first, int64_t count) {
    std::fill_n(outputs_.get(), RoundUp(count, kOutputBlock) * padded_width_, 0.0f);
    for (int64_t i = 0; rows != nullptr && i < count; ++i) {
      std::copy_n(rows->data + (first + i) * rows->stride, width_,
                  outputs_.get() + i * padded_width_);
    }
  }

  const int64_t width_, padded_width_, taps_;
  const int64_t reach_;      // taps, rounded up to what AddTapProducts() takes
  Floats band_;              // [output of a block][input]
  Floats inputs_, outputs_;  // [token][padded width]
  Floats sums_;              // [tap][lane]
};

class TokenConvolutionFunction : public torch::autograd::Function<TokenConvolutionFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& residual,
                            const at::Tensor& x, const at::Tensor& filters) {
    const at::Tensor dense = filters.contiguous(), output = EmptyHeads(x, x.size(3));
    context->save_for_backward({x, dense});
    const int64_t taps = dense.size(1);
    const HeadRows from(x), rest(residual), to(output);
    const float* filter = dense.const_data_ptr<float>();
    ForHeads(x, [&](int64_t example, int64_t head, int64_t) {
      const RowsView added = rest.Rows(example, head, 0);
      TokenConvolver(x.size(3), taps)
          .Convolve(filter + head * taps, false, from.Rows(example, head, 0), x.size(2), &added,
                    to.Rows(example, head, 0));
    });
    return output;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list upstream) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &filters = saved[1];
    const int64_t taps = filters.size(1);
    const at::Tensor dx = EmptyHeads(x, x.size(3));
    // Each (example, head) has a sum of its own, so that threads do not race.
    const at::Tensor sums =
        at::zeros({x.size(0), x.size(1), taps}, filters.options().requires_grad(false));
    const HeadRows inputs(x), gradients(upstream[0]), to(dx);
    const float* filter = filters.const_data_ptr<float>();
    float* sum = sums.mutable_data_ptr<float>();
    ForHeads(x, [&](int64_t example, int64_t head, int64_t index) {
      TokenConvolver convolver(x.size(3), taps);
      const RowsView gradient = gradients.Rows(example, head, 0);
      convolver.Convolve(filter + head * taps, true, gradient, x.size(2), nullptr,
                         to.Rows(example, head, 0));
      convolver.AddFilterGradient(gradient, inputs.Rows(example, head, 0), x.size(2),
                                  sum + index * taps);
    });
    return {upstream[0], dx, sums.sum(0)};
  }
};

}  // namespace

namespace internal {

at::Tensor AddTokenConvolutionGeneric(const at::Tensor& residual, const at::Tensor& x,
                                      const at::Tensor& filters) {
  if (!x.is_cpu()) return AddTokenConvolutionByBands(residual, x, filters);
  const int64_t taps = filters.size(1), side = taps / 2;
  // The gradient of filters through conv2d() in float32 on the CPU is off by some percent for long
  // filters of one channel (LibTorch 2.15): here every tap is a product of its own.
  const at::ScalarType type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor padded = at::constant_pad_nd(x.to(type), {0, 0, side, side});
  const at::Tensor factors = filters.to(type).t().unsqueeze(2).unsqueeze(3);  // [W, H, 1, 1]
  at::Tensor y = residual.to(type);
  for (int64_t t = 0; t < taps; ++t) y = y + factors.select(0, t) * padded.narrow(2, t, x.size(2));
  return y.to(x.scalar_type());
}

// LibTorch's convolutions on a GPU sum the gradient of a filter of few channels in one block of
// threads for each of its taps.
at::Tensor AddTokenConvolutionByBands(const at::Tensor& residual, const at::Tensor& x,
                                      const at::Tensor& filters) {
  const int64_t batch = x.size(0), heads = x.size(1), tokens = x.size(2), width = x.size(3);
  const int64_t taps = filters.size(1), side = taps / 2, inner = kBandTokens + taps - 1;
  // Row r begins r places later: rows of `inner` cut from copies of the filter of inner + 1.
  const at::Tensor band = at::constant_pad_nd(filters, {0, inner + 1 - taps})
                              .unsqueeze(1)
                              .expand({heads, kBandTokens, inner + 1})
                              .reshape({heads, kBandTokens * (inner + 1)})
                              .narrow(1, 0, kBandTokens * inner)
                              .view({heads, kBandTokens, inner})
                              .to(x.scalar_type());
  const int64_t blocks = (tokens + kBandTokens - 1) / kBandTokens;
  const at::Tensor padded =
      at::constant_pad_nd(x, {0, 0, side, blocks * kBandTokens - tokens + side});
  const at::Tensor read = padded.transpose(0, 1)
                              .unfold(2, inner, kBandTokens)  // [H, B, blocks, D, inner]
                              .reshape({heads, batch * blocks * width, inner});
  const at::Tensor y = at::bmm(read, band.transpose(1, 2))
                           .view({heads, batch, blocks, width, kBandTokens})
                           .permute({1, 0, 2, 4, 3})
                           .reshape({batch, heads, blocks * kBandTokens, width});
  return residual + y.narrow(2, 0, tokens);
}

}  // namespace internal

at::Tensor AddTokenConvolution(const at::Tensor& residual, const at::Tensor& x,
                               const at::Tensor& filters) {
  LRA_CHECK(x.dim() == 4 && residual.sizes() == x.sizes() && filters.dim() == 2 &&
            filters.size(0) == x.size(1) && filters.size(1) % 2 == 1);
  if (DispatchKernel(KernelNeeds(), {x, residual, filters}) == KernelPath::kGeneric)
    return internal::AddTokenConvolutionGeneric(residual, x, filters);
  return TokenConvolutionFunction::apply(residual, x, filters);
}

}  // namespace lra
