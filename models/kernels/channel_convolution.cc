#include "models/kernels/channel_convolution.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "lra/check.h"
#include "models/kernels/cuda_kernels.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/simd.h"

namespace lra {
namespace {

// One example: its tokens, channels and taps; tap t of token n reads token n + t - before.
struct ChannelShape {
  int64_t tokens, width, taps, before;
};

// The taps of token n that read tokens of the sequence: [first, end).
inline LRA_ALWAYS_INLINE int64_t FirstTap(const ChannelShape& s, int64_t n) {
  return std::max<int64_t>(0, s.before - n);
}
inline LRA_ALWAYS_INLINE int64_t EndTap(const ChannelShape& s, int64_t n) {
  return std::min(s.taps, s.tokens + s.before - n);
}

inline LRA_ALWAYS_INLINE void ConvolveBody(const ChannelShape& s, const float* x,
                                           const float* filters, float* y) {
  for (int64_t n = 0; n < s.tokens; ++n, y += s.width) {
    std::fill_n(y, s.width, 0.0f);
    for (int64_t t = FirstTap(s, n); t < EndTap(s, n); ++t) {
      const float* row = x + (n + t - s.before) * s.width;
      const float* filter = filters + t * s.width;
      for (int64_t c = 0; c < s.width; ++c) y[c] += filter[c] * row[c];
    }
  }
}
LRA_MULTIVERSION(Convolve, (const ChannelShape& s, const float* x, const float* filters, float* y),
                 (s, x, filters, y))

inline LRA_ALWAYS_INLINE void AddFilterGradientBody(const ChannelShape& s, const float* x,
                                                    const float* dy, float* gradient) {
  for (int64_t n = 0; n < s.tokens; ++n, dy += s.width) {
    for (int64_t t = FirstTap(s, n); t < EndTap(s, n); ++t) {
      const float* row = x + (n + t - s.before) * s.width;
      float* sum = gradient + t * s.width;
      for (int64_t c = 0; c < s.width; ++c) sum[c] += row[c] * dy[c];
    }
  }
}
LRA_MULTIVERSION(AddFilterGradient,
                 (const ChannelShape& s, const float* x, const float* dy, float* gradient),
                 (s, x, dy, gradient))

ChannelShape ShapeOf(const at::Tensor& x, const at::Tensor& filters, int64_t after) {
  const int64_t taps = filters.size(0);
  return {x.size(1), x.size(2), taps, taps - 1 - after};
}

class ChannelConvolutionFunction : public torch::autograd::Function<ChannelConvolutionFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& filters, int64_t after) {
    const at::Tensor dense = x.contiguous(), taps = filters.contiguous();
    context->save_for_backward({dense, taps});
    context->saved_data["after"] = after;
    const at::Tensor y = at::empty_like(dense);
    const ChannelShape shape = ShapeOf(dense, taps, after);
    const int64_t of_example = shape.tokens * shape.width;
    const float *from = dense.const_data_ptr<float>(), *filter = taps.const_data_ptr<float>();
    float* to = y.mutable_data_ptr<float>();
    at::parallel_for(0, dense.size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        Convolve(shape, from + b * of_example, filter, to + b * of_example);
    });
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list upstream) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &filters = saved[1];
    const at::Tensor dy = upstream[0].contiguous(), dx = at::empty_like(x);
    const ChannelShape shape = ShapeOf(x, filters, context->saved_data["after"].toInt());
    // Each example has a sum of its own, so that threads do not race and sums have one order.
    const at::Tensor sums =
        at::zeros({x.size(0), shape.taps, shape.width}, filters.options().requires_grad(false));
    // dx_m = sum_t filters_t dy_{m - t + before}: a convolution with the filter reversed.
    const at::Tensor reversed = filters.flip(0);
    const ChannelShape back = {shape.tokens, shape.width, shape.taps,
                               shape.taps - 1 - shape.before};
    const int64_t of_example = shape.tokens * shape.width, of_filter = shape.taps * shape.width;
    const float *inputs = x.const_data_ptr<float>(), *gradients = dy.const_data_ptr<float>();
    const float* filter = reversed.const_data_ptr<float>();
    float *to = dx.mutable_data_ptr<float>(), *sum = sums.mutable_data_ptr<float>();
    at::parallel_for(0, x.size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        Convolve(back, gradients + b * of_example, filter, to + b * of_example);
        AddFilterGradient(shape, inputs + b * of_example, gradients + b * of_example,
                          sum + b * of_filter);
      }
    });
    return {dx, sums.sum(0), at::Tensor()};
  }
};

// The rows of x [B, N, E] that tap t reads, for each t one behind the other.
at::Tensor Shifted(const at::Tensor& x, int64_t before, int64_t after) {
  return at::constant_pad_nd(x, {0, 0, before, after});
}

// By our own CUDA kernels, or by one operator a tap in each direction: on a device, launches are
// what takes time.
class ChannelConvolutionByTapsFunction
    : public torch::autograd::Function<ChannelConvolutionByTapsFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& filters, int64_t after) {
    context->save_for_backward({x, filters});
    context->saved_data["after"] = after;
    if (HasChannelsOnCuda(x, filters))
      return ConvolveChannelsOnCuda(x, filters, filters.size(0) - 1 - after, false);
    return Sum(Shifted(x, filters.size(0) - 1 - after, after), filters.to(x.scalar_type()),
               x.size(1));
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list upstream) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &filters = saved[1], &dy = upstream[0];
    const int64_t taps = filters.size(0), tokens = x.size(1),
                  after = context->saved_data["after"].toInt(), before = taps - 1 - after;
    if (HasChannelsOnCuda(x, filters)) {
      const at::Tensor dense = dy.contiguous();
      return {ConvolveChannelsOnCuda(dense, filters, after, true),
              FilterGradientOnCuda(x, dense, taps, before), at::Tensor()};
    }
    const at::Tensor dx =
        Sum(Shifted(dy, after, before), filters.to(x.scalar_type()).flip(0), tokens);
    const at::Tensor read = Shifted(x, before, after);
    std::vector<at::Tensor> of_taps;
    for (int64_t t = 0; t < taps; ++t) {
      of_taps.push_back((dy * read.narrow(1, t, tokens))
                            .sum(at::IntArrayRef{0, 1}, false, filters.scalar_type()));
    }
    return {dx, at::stack(of_taps), at::Tensor()};
  }

 private:
  static at::Tensor Sum(const at::Tensor& read, const at::Tensor& filters, int64_t tokens) {
    at::Tensor y = filters[0] * read.narrow(1, 0, tokens);
    for (int64_t t = 1; t < filters.size(0); ++t) y.addcmul_(filters[t], read.narrow(1, t, tokens));
    return y;
  }
};

}  // namespace

at::Tensor internal::ChannelConvolutionGeneric(const at::Tensor& x, const at::Tensor& filters,
                                               int64_t after) {
  const int64_t taps = filters.size(0), tokens = x.size(1);
  const at::Tensor padded = at::constant_pad_nd(x, {0, 0, taps - 1 - after, after});
  at::Tensor y = at::zeros({}, x.options().requires_grad(false));
  for (int64_t t = 0; t < taps; ++t)
    y = y + filters[t].to(x.scalar_type()) * padded.narrow(1, t, tokens);
  return y;
}

at::Tensor internal::ChannelConvolutionByTaps(const at::Tensor& x, const at::Tensor& filters,
                                              int64_t after) {
  return ChannelConvolutionByTapsFunction::apply(x, filters, after);
}

at::Tensor ChannelConvolution(const at::Tensor& x, const at::Tensor& filters, int64_t after) {
  LRA_CHECK(x.dim() == 3 && filters.dim() == 2 && filters.size(1) == x.size(2) && after >= 0 &&
            after < filters.size(0));
  if (!x.is_cpu()) return internal::ChannelConvolutionByTaps(x.contiguous(), filters, after);
  if (DispatchKernel(KernelNeeds(), {x, filters}) == KernelPath::kGeneric)
    return internal::ChannelConvolutionGeneric(x, filters, after);
  return ChannelConvolutionFunction::apply(x, filters, after);
}

}  // namespace lra
