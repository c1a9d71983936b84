// The tiled form of exponential sums: powers by repeated products in float64 (an error of about
// length 1e-16, far below that of float32), their sums as one product of matrices a channel.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "models/kernels/diagonal_state_space.h"
#include "models/kernels/floats.h"
#include "models/kernels/gemm.h"
#include "models/kernels/simd.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Complex = std::complex<double>;

// table [count][2][pairs]: the powers 0 ... count - 1 of base [2][pairs], real parts first.
inline LRA_ALWAYS_INLINE void PowersBody(int64_t count, int64_t pairs, const double* base,
                                         double* table) {
  std::fill_n(table, pairs, 1.0);
  std::fill_n(table + pairs, pairs, 0.0);
  for (int64_t k = 1; k < count; ++k) {
    const double* last = table + (k - 1) * 2 * pairs;
    double* next = table + k * 2 * pairs;
    LRA_INDEPENDENT
    for (int64_t p = 0; p < pairs; ++p) {
      next[p] = last[p] * base[p] - last[pairs + p] * base[pairs + p];
      next[pairs + p] = last[p] * base[pairs + p] + last[pairs + p] * base[p];
    }
  }
}
LRA_MULTIVERSION(Powers, (int64_t count, int64_t pairs, const double* base, double* table),
                 (count, pairs, base, table))

// out [count][2 pairs] = (2 Re, -2 Im) of weight times the table: what multiplies (Re, Im).
inline LRA_ALWAYS_INLINE void WeighBody(int64_t count, int64_t pairs, const double* weight,
                                        const double* table, float* out) {
  for (int64_t k = 0; k < count; ++k, table += 2 * pairs, out += 2 * pairs) {
    LRA_INDEPENDENT
    for (int64_t p = 0; p < pairs; ++p) {
      const double re = table[p] * weight[p] - table[pairs + p] * weight[pairs + p];
      const double im = table[p] * weight[pairs + p] + table[pairs + p] * weight[p];
      out[p] = static_cast<float>(2 * re);
      out[pairs + p] = static_cast<float>(-2 * im);
    }
  }
}
LRA_MULTIVERSION(Weigh,
                 (int64_t count, int64_t pairs, const double* weight, const double* table,
                  float* out),
                 (count, pairs, weight, table, out))

// sum [2][pairs] += sum_k g_k conj(table_k), moment [2][pairs] += sum_k k g_k conj(table_k), where
// g_k = factor (Re, sign Im) of gradient [count][2 pairs].
struct MomentSums {
  double factor, sign;
  double *sum, *moment;
};
inline LRA_ALWAYS_INLINE void AddMomentsBody(int64_t count, int64_t pairs, const float* gradient,
                                             const double* table, const MomentSums& to) {
  for (int64_t k = 0; k < count; ++k, table += 2 * pairs, gradient += 2 * pairs) {
    const double order = static_cast<double>(k);
    LRA_INDEPENDENT
    for (int64_t p = 0; p < pairs; ++p) {
      const double gr = to.factor * gradient[p], gi = to.factor * to.sign * gradient[pairs + p];
      const double re = gr * table[p] + gi * table[pairs + p];
      const double im = gi * table[p] - gr * table[pairs + p];
      to.sum[p] += re;
      to.sum[pairs + p] += im;
      to.moment[p] += order * re;
      to.moment[pairs + p] += order * im;
    }
  }
}
LRA_MULTIVERSION(AddMoments,
                 (int64_t count, int64_t pairs, const float* gradient, const double* table,
                  const MomentSums& to),
                 (count, pairs, gradient, table, to))

struct SumsSizes {
  SumsSizes(const at::Tensor& rate, const at::Tensor& weight, int64_t lags)
      : directions(weight.size(0)),
        channels(rate.size(0)),
        pairs(rate.size(1)),
        length(lags),
        inner(InnerLags(lags)),
        blocks((lags + inner - 1) / inner) {}
  const int64_t directions, channels, pairs, length, inner, blocks;
};

const Complex* ComplexData(const at::Tensor& t) {
  return reinterpret_cast<const Complex*>(t.const_data_ptr<c10::complex<double>>());
}
Complex* MutableComplexData(const at::Tensor& t) {
  return reinterpret_cast<Complex*>(t.mutable_data_ptr<c10::complex<double>>());
}

// The tables of one channel at a time.
class SumsWorker {
 public:
  explicit SumsWorker(const SumsSizes& sizes)
      : s_(sizes),
        base_(2 * s_.pairs),
        inner_(2 * s_.inner * s_.pairs),
        outer_(2 * s_.blocks * s_.pairs),
        weight_(2 * s_.pairs),
        right_(2 * s_.inner * s_.pairs),
        left_(2 * s_.blocks * s_.pairs),
        sums_(s_.blocks * s_.inner),
        right_gradient_(2 * s_.inner * s_.pairs),
        left_gradient_(2 * s_.blocks * s_.pairs) {}

  void Begin(const Complex* rate) {
    PowersOf(rate, 1, s_.inner, inner_.data());
    PowersOf(rate, static_cast<double>(s_.inner), s_.blocks, outer_.data());
    std::transform(inner_.begin(), inner_.end(), right_.get(),
                   [](double value) { return static_cast<float>(value); });
  }

  // out [length] = the sums with these weights [P].
  void Sums(const Complex* weight, float* out) {
    Left(weight);
    const int64_t terms = 2 * s_.pairs;
    Gemm(s_.blocks, s_.inner, terms, {left_.get(), terms}, {right_.get(), terms, true}, 0,
         sums_.get(), s_.inner);
    std::copy_n(sums_.get(), s_.length, out);
  }

  // From the gradient [length] of those sums to that of the weights, and to more of the rates'.
  void Backward(const Complex* weight, const float* gradient, Complex* weight_gradient,
                Complex* rate_gradient) {
    Left(weight);
    const int64_t terms = 2 * s_.pairs;
    std::fill_n(std::copy_n(gradient, s_.length, sums_.get()), s_.blocks * s_.inner - s_.length,
                0.0f);
    Gemm(s_.blocks, terms, s_.inner, {sums_.get(), s_.inner}, {right_.get(), terms}, 0,
         left_gradient_.get(), terms);
    Gemm(s_.inner, terms, s_.blocks, {sums_.get(), s_.inner, true}, {left_.get(), terms}, 0,
         right_gradient_.get(), terms);
    std::vector<double> sum(terms, 0), moment(terms, 0), unused(terms, 0), inner(terms, 0);
    AddMoments(s_.blocks, s_.pairs, left_gradient_.get(), outer_.data(),
               {2, -1, sum.data(), moment.data()});
    AddMoments(s_.inner, s_.pairs, right_gradient_.get(), inner_.data(),
               {1, 1, unused.data(), inner.data()});
    const double step = static_cast<double>(s_.inner);
    for (int64_t p = 0; p < s_.pairs; ++p) {
      weight_gradient[p] = {sum[p], sum[s_.pairs + p]};
      rate_gradient[p] += step * std::conj(weight[p]) * Complex(moment[p], moment[s_.pairs + p]) +
                          Complex(inner[p], inner[s_.pairs + p]);
    }
  }

 private:
  void PowersOf(const Complex* rate, double step, int64_t count, double* table) {
    for (int64_t p = 0; p < s_.pairs; ++p) {
      const Complex base = std::exp(step * rate[p]);
      base_[p] = base.real();
      base_[s_.pairs + p] = base.imag();
    }
    Powers(count, s_.pairs, base_.data(), table);
  }
  void Left(const Complex* weight) {
    for (int64_t p = 0; p < s_.pairs; ++p) {
      weight_[p] = weight[p].real();
      weight_[s_.pairs + p] = weight[p].imag();
    }
    Weigh(s_.blocks, s_.pairs, weight_.data(), outer_.data(), left_.get());
  }

  const SumsSizes& s_;
  std::vector<double> base_, inner_, outer_, weight_;
  Floats right_, left_;  // [m][2 P], [blocks][2 P]
  Floats sums_;          // [blocks][m]
  Floats right_gradient_, left_gradient_;
};

template <class Body>
void ForChannels(const SumsSizes& sizes, Body body) {
  at::parallel_for(0, sizes.channels, 1, [&](int64_t begin, int64_t end) {
    SumsWorker worker(sizes);
    for (int64_t channel = begin; channel < end; ++channel) body(&worker, channel);
  });
}

class ExponentialSumsFunction : public torch::autograd::Function<ExponentialSumsFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rate,
                            const at::Tensor& weight, int64_t length) {
    const at::Tensor rates = rate.contiguous(), weights = weight.contiguous();
    context->save_for_backward({rates, weights});
    const SumsSizes s(rates, weights, length);
    at::Tensor sums =
        at::empty({s.directions, s.channels, length}, rate.options().dtype(at::kFloat));
    float* to = sums.mutable_data_ptr<float>();
    ForChannels(s, [&](SumsWorker* worker, int64_t channel) {
      worker->Begin(ComplexData(rates) + channel * s.pairs);
      for (int64_t x = 0; x < s.directions; ++x) {
        const int64_t row = x * s.channels + channel;
        worker->Sums(ComplexData(weights) + row * s.pairs, to + row * length);
      }
    });
    return sums;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor upstream = gradients[0].contiguous();
    const SumsSizes s(saved[0], saved[1], upstream.size(2));
    const at::Tensor rate = at::zeros_like(saved[0]), weight = at::zeros_like(saved[1]);
    ForChannels(s, [&](SumsWorker* worker, int64_t channel) {
      worker->Begin(ComplexData(saved[0]) + channel * s.pairs);
      for (int64_t x = 0; x < s.directions; ++x) {
        const int64_t row = x * s.channels + channel;
        worker->Backward(ComplexData(saved[1]) + row * s.pairs,
                         upstream.const_data_ptr<float>() + row * s.length,
                         MutableComplexData(weight) + row * s.pairs,
                         MutableComplexData(rate) + channel * s.pairs);
      }
    });
    return {rate, weight, at::Tensor()};
  }
};

}  // namespace

at::Tensor internal::ExponentialSumsTiled(const at::Tensor& rate, const at::Tensor& weight,
                                          int64_t length) {
  return ExponentialSumsFunction::apply(rate, weight, length);
}

}  // namespace lra
