// The tiled form: 16 channels lie in the lanes of vectors, and two examples are the real and the
// imaginary part of one complex sequence, which a convolution with a real kernel keeps apart. The
// transform of 2 M values of which the last M are zero is that of M values at its even frequencies,
// and that of the values turned by e^(-pi i j / M) at its odd ones. So work goes half by half
// through M values that stay in the cache, and no transform of x is stored.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "models/base/optional_tensor.h"
#include "models/kernels/floats.h"
#include "models/kernels/lane_transform.h"
#include "models/kernels/long_convolution.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

// Into how many ranges the examples are cut whose kernel gradients are summed apart; a constant, so
// that sums do not depend on threads.
constexpr int64_t kMostSplits = 8;

struct ConvolutionShape {
  explicit ConvolutionShape(const at::Tensor& x)
      : batch(x.size(0)),
        tokens(x.size(1)),
        channels(x.size(2)),
        transform(LaneTransform::Of(x.size(1))) {}
  int64_t groups() const { return (channels + kTransformLanes - 1) / kTransformLanes; }
  int64_t pairs() const { return (batch + 1) / 2; }
  int64_t half_floats() const { return transform.length() * kLaneValue; }
  int64_t lanes(int64_t group) const {
    return std::min(kTransformLanes, channels - group * kTransformLanes);
  }

  const int64_t batch, tokens, channels;
  const LaneTransform& transform;  // of half the length
};

// Where one pair of examples of one group of channels lies in x [B, N, C].
struct PairView {
  PairView(const ConvolutionShape& shape, int64_t group, int64_t pair)
      : offset((2 * pair * shape.tokens) * shape.channels + group * kTransformLanes),
        second(2 * pair + 1 < shape.batch ? shape.tokens * shape.channels : 0),
        lanes(shape.lanes(group)) {}
  const int64_t offset;  // of the first example
  const int64_t second;  // from there to the second; 0: there is none
  const int64_t lanes;
};

// z = the pair, the odd half turned; z [M].
void LoadPair(const ConvolutionShape& shape, const PairView& at, const float* x, bool is_odd,
              float* z) {
  std::memset(z, 0, shape.half_floats() * sizeof(float));
  const float* from = x + at.offset;
  float* to = z;
  for (int64_t j = 0; j < shape.tokens; ++j, from += shape.channels, to += kLaneValue) {
    std::copy_n(from, at.lanes, to);
    if (at.second != 0) std::copy_n(from + at.second, at.lanes, to + kTransformLanes);
  }
  if (is_odd) TurnLanes(shape.tokens, shape.transform.half_turns(), false, z);
}

// Writes the even half's part of the first M values, or adds the odd half's; z is used up.
void StorePair(const ConvolutionShape& shape, const PairView& at, bool is_odd, float* z, float* y) {
  if (is_odd) TurnLanes(shape.tokens, shape.transform.half_turns(), true, z);
  const auto store = [&](const float* from, float* to) {
    for (int64_t l = 0; l < at.lanes; ++l) to[l] = is_odd ? to[l] + from[l] : from[l];
  };
  float* to = y + at.offset;
  for (int64_t j = 0; j < shape.tokens; ++j, to += shape.channels, z += kLaneValue) {
    store(z, to);
    if (at.second != 0) store(z + kTransformLanes, to + at.second);
  }
}

// The spectra of the kernels divided by the transform's length: [groups][2 halves][M] values.
class Spectra {
 public:
  Spectra(const ConvolutionShape& shape, const at::Tensor& past, const at::Tensor& future)
      : shape_(shape), values_(shape.groups() * 2 * shape.half_floats()) {
    const at::Tensor p = past.contiguous(), f = future.defined() ? future.contiguous() : future;
    at::parallel_for(0, shape.groups() * 2, 1, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        Make(unit / 2, unit % 2 == 1, p.const_data_ptr<float>(),
             f.defined() ? f.const_data_ptr<float>() : nullptr);
      }
    });
  }
  float* At(int64_t group, bool is_odd) const {
    return values_.get() + (2 * group + (is_odd ? 1 : 0)) * shape_.half_floats();
  }

 private:
  // Value j and value M + j of the kernel are added, or subtracted and turned.
  void Make(int64_t group, bool is_odd, const float* past, const float* future) {
    const int64_t half = shape_.transform.length(), n = shape_.tokens;
    const float factor = 0.5f / static_cast<float>(half);
    float* z = At(group, is_odd);
    std::memset(z, 0, shape_.half_floats() * sizeof(float));
    for (int64_t l = 0; l < shape_.lanes(group); ++l) {
      const int64_t row = (group * kTransformLanes + l) * n;
      for (int64_t j = 0; j < n; ++j) z[j * kLaneValue + l] = factor * past[row + j];
      if (future == nullptr) continue;
      // Lag -1 - t stands at 2 M - 1 - t; the last one, lag -N, meets no token.
      const float sign = is_odd ? -factor : factor;
      for (int64_t t = 0; t + 1 < n; ++t) {
        z[(half - 1 - t) * kLaneValue + l] += sign * future[row + t];
      }
    }
    if (is_odd) TurnLanes(half, shape_.transform.half_turns(), false, z);
    shape_.transform.Forward(z);
  }

  const ConvolutionShape& shape_;
  Floats values_;
};

at::Tensor Convolve(const at::Tensor& x, const at::Tensor& past, const at::Tensor& future) {
  const ConvolutionShape shape(x);
  const Spectra spectra(shape, past, future);
  at::Tensor y = at::empty_like(x);
  const float* from = x.const_data_ptr<float>();
  float* to = y.mutable_data_ptr<float>();
  at::parallel_for(0, shape.groups() * shape.pairs(), 1, [&](int64_t begin, int64_t end) {
    const Floats z(shape.half_floats());
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t group = unit / shape.pairs();
      const PairView at(shape, group, unit % shape.pairs());
      for (const bool is_odd : {false, true}) {
        LoadPair(shape, at, from, is_odd, z.get());
        shape.transform.Forward(z.get());
        MultiplyLanes(shape.transform.length(), spectra.At(group, is_odd), z.get());
        shape.transform.Inverse(z.get());
        StorePair(shape, at, is_odd, z.get(), to);
      }
    }
  });
  return y;
}

// The gradients of kernels as sums of spectra, [groups][splits][2 halves][M] values.
class KernelGradients {
 public:
  explicit KernelGradients(const ConvolutionShape& shape)
      : splits(std::min(kMostSplits, shape.pairs())),
        shape_(shape),
        sums_(at::zeros({shape.groups() * splits * 2 * shape.half_floats()}, at::kFloat)) {}

  float* At(int64_t group, int64_t split, bool is_odd) {
    return sums_.mutable_data_ptr<float>() +
           ((group * splits + split) * 2 + (is_odd ? 1 : 0)) * shape_.half_floats();
  }

  // Adds the splits up in order and transforms back into the gradients of past and future (may be
  // null), [C, N].
  void Finish(float* past, float* future) {
    at::parallel_for(0, shape_.groups(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group) FinishGroup(group, past, future);
    });
  }

  const int64_t splits;

 private:
  void FinishGroup(int64_t group, float* past, float* future) {
    for (const bool is_odd : {false, true}) {
      float* sum = At(group, 0, is_odd);
      for (int64_t split = 1; split < splits; ++split) {
        const float* more = At(group, split, is_odd);
        for (int64_t i = 0; i < shape_.half_floats(); ++i) sum[i] += more[i];
      }
      shape_.transform.Inverse(sum);
      if (is_odd) TurnLanes(shape_.transform.length(), shape_.transform.half_turns(), true, sum);
    }
    const int64_t half = shape_.transform.length(), n = shape_.tokens;
    const float factor = 0.5f / static_cast<float>(half);
    const float *even = At(group, 0, false), *odd = At(group, 0, true);
    for (int64_t l = 0; l < shape_.lanes(group); ++l) {
      const int64_t row = (group * kTransformLanes + l) * n;
      const auto value = [&](int64_t j, float sign) {
        return factor * (even[j * kLaneValue + l] + sign * odd[j * kLaneValue + l]);
      };
      for (int64_t j = 0; j < n; ++j) past[row + j] = value(j, 1);
      if (future == nullptr) continue;
      for (int64_t t = 0; t + 1 < n; ++t) future[row + t] = value(half - 1 - t, -1);
    }
  }

  const ConvolutionShape& shape_;
  at::Tensor sums_;
};

// One pair's part of all gradients.
void PairBackward(const ConvolutionShape& shape, const Spectra& spectra, const float* x,
                  const float* dy, int64_t group, int64_t pair, int64_t split, float* z, float* w,
                  KernelGradients* sums, float* dx) {
  const int64_t half = shape.transform.length();
  const PairView at(shape, group, pair);
  for (const bool is_odd : {false, true}) {
    LoadPair(shape, at, x, is_odd, z);
    shape.transform.Forward(z);
    LoadPair(shape, at, dy, is_odd, w);
    shape.transform.Forward(w);
    AddConjugateProducts(half, z, w, sums->At(group, split, is_odd));
    MultiplyConjugateLanes(half, spectra.At(group, is_odd), w);
    shape.transform.Inverse(w);
    StorePair(shape, at, is_odd, w, dx);
  }
}

class LongConvolutionFunction : public torch::autograd::Function<LongConvolutionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& past,
                            const OptionalTensor& future) {
    const at::Tensor dense = x.contiguous(), later = future.value_or(at::Tensor());
    context->save_for_backward({dense, past, later});
    return Convolve(dense, past, later);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list s = context->get_saved_variables();
    const ConvolutionShape shape(s[0]);
    const Spectra spectra(shape, s[1], s[2]);
    const at::Tensor upstream = gradients[0].contiguous();
    const float *x = s[0].const_data_ptr<float>(), *dy = upstream.const_data_ptr<float>();
    at::Tensor dx = at::empty_like(s[0]);
    float* to = dx.mutable_data_ptr<float>();
    KernelGradients sums(shape);
    at::parallel_for(0, shape.groups() * sums.splits, 1, [&](int64_t begin, int64_t end) {
      const Floats z(shape.half_floats()), w(shape.half_floats());
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t group = unit / sums.splits, split = unit % sums.splits;
        const int64_t first = shape.pairs() * split / sums.splits,
                      last = shape.pairs() * (split + 1) / sums.splits;
        for (int64_t pair = first; pair < last; ++pair) {
          PairBackward(shape, spectra, x, dy, group, pair, split, z.get(), w.get(), &sums, to);
        }
      }
    });
    const at::Tensor past = at::zeros({shape.channels, shape.tokens}, s[0].options());
    const at::Tensor future = s[2].defined() ? at::zeros_like(past) : at::Tensor();
    sums.Finish(past.mutable_data_ptr<float>(),
                future.defined() ? future.mutable_data_ptr<float>() : nullptr);
    return {dx, past, future};
  }
};

}  // namespace

at::Tensor internal::LongConvolutionTiled(const at::Tensor& x, const at::Tensor& past,
                                          const at::Tensor& future) {
  return LongConvolutionFunction::apply(x, past, IfDefined(future));
}

}  // namespace lra
