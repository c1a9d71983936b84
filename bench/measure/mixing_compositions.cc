// Methods that mix tokens in other ways: through fewer keys, learned logits, blocks, convolutions.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/fft_fft2.h>
#include <ATen/ops/fft_irfft.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/glu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/real.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/view_as_complex.h>

#include <cmath>
#include <limits>

#include "bench/measure/compositions.h"

namespace lra {
namespace {

at::Tensor Softmax(const at::Tensor& q, const at::Tensor& k) {
  return at::softmax(at::matmul(q / std::sqrt(double(kHeadWidth)), k.transpose(-1, -2)), -1);
}

at::Tensor Linformer(const Case& c) {
  const at::Tensor map = c.Owned("key_projection");  // for keys and values
  const at::Tensor k = at::matmul(map, c.input().k), v = at::matmul(map, c.input().v);
  return at::matmul(Softmax(c.input().q, k), v);
}

at::Tensor Nystromformer(const Case& c) {
  constexpr int64_t kLandmarks = 64, kIterations = 6;
  const AttentionInput& in = c.input();
  const auto means = [](const at::Tensor& t) { return t.unflatten(2, {kLandmarks, -1}).mean(3); };
  const at::Tensor q_marks = means(in.q), k_marks = means(in.k);
  const at::Tensor a = Softmax(q_marks, k_marks), one = at::eye(kLandmarks);
  at::Tensor z = a.mT() / a.sum(-2).amax(-1).unsqueeze(-1).unsqueeze(-1);
  for (int64_t i = 0; i < kIterations; ++i) {
    const at::Tensor az = at::matmul(a, z);
    const at::Tensor inner = 15 * one - at::matmul(az, 7 * one - az);
    z = 0.25 * at::matmul(z, 13 * one - at::matmul(az, inner));
  }
  const at::Tensor values = at::matmul(Softmax(q_marks, in.k), in.v);
  const at::Tensor kernel = c.Owned("convolution").view({kHeads, 1, -1, 1});
  return at::matmul(at::matmul(Softmax(in.q, k_marks), z), values) +
         at::conv2d(in.v, kernel, {}, at::IntArrayRef{1, 1}, at::IntArrayRef{kernel.size(2) / 2, 0},
                    at::IntArrayRef{1, 1}, kHeads);
}

at::Tensor Synthesizer(const Case& c) {
  const AttentionInput& in = c.input();
  const int64_t n = c.tokens();
  at::Tensor logits = at::matmul(in.q / std::sqrt(double(kHeadWidth)), in.k.transpose(-1, -2)) +
                      at::matmul(c.Owned("logits.rows"), c.Owned("logits.columns").mT());
  if (in.causal) {
    logits = logits.masked_fill(at::ones({n, n}, at::kBool).triu(1),
                                -std::numeric_limits<float>::infinity());
  }
  return at::matmul(at::softmax(logits, -1), in.v);
}

at::Tensor Sinkhorn(const Case& c) {
  constexpr int64_t kBlock = 64, kIterations = 8;
  constexpr double kTemperature = 0.75, kNever = -1e30;
  const bool causal = c.input().causal;
  const auto cut = [](const at::Tensor& t) { return t.unflatten(2, {-1, kBlock}); };
  const at::Tensor q = cut(c.input().q), k = cut(c.input().k), v = cut(c.input().v);
  const int64_t blocks = k.size(2);
  at::Tensor means = k.mean(3), weights;
  const at::Tensor later = at::ones({blocks, blocks}, at::kBool).triu();
  if (causal) {  // the mean of everything before the block, which is nothing for the first
    means = at::constant_pad_nd(means.cumsum(2).slice(2, 0, -1), {0, 0, 1, 0}) /
            at::arange(blocks).clamp_min(1).unsqueeze(1);
  }
  at::Tensor logits = at::matmul(means, c.Owned("sort.weight").t()) / kTemperature;
  if (causal) {
    weights = at::softmax(logits.masked_fill(later, kNever), -1).masked_fill(later, 0);
  } else {
    for (int64_t i = 0; i < kIterations; ++i) {
      logits = logits - logits.logsumexp({3}, true);
      logits = logits - logits.logsumexp({2}, true);
    }
    weights = logits.exp();
  }
  const auto with_mixture = [&](const at::Tensor& x) {
    return at::cat({x, at::matmul(weights, x.flatten(3)).view_as(x)}, 3);
  };
  at::Tensor scores =
      at::matmul(q / std::sqrt(double(kHeadWidth)), with_mixture(k).transpose(-1, -2));
  if (causal) {
    const at::Tensor future = at::constant_pad_nd(at::ones({kBlock, kBlock}).triu(1), {0, kBlock});
    const at::Tensor no_mixture =
        (at::arange(blocks).view({-1, 1, 1}) == 0).logical_and(at::arange(2 * kBlock) >= kBlock);
    scores = scores.masked_fill(future.to(at::kBool).logical_or(no_mixture), kNever);
  }
  return at::matmul(at::softmax(scores, -1), with_mixture(v)).flatten(2, 3);
}

// [B, H, N, D] <-> [B, N, H D].
at::Tensor Joined(const at::Tensor& t) { return t.transpose(1, 2).flatten(2); }
at::Tensor Heads(const at::Tensor& t) {
  return t.unflatten(2, {kHeads, kHeadWidth}).transpose(1, 2);
}

at::Tensor Fnet(const Case& c) {
  return Heads(at::real(at::fft_fft2(Joined(c.input().v), {}, {1, 2}, "ortho")));
}

// Kernels from powers of all states; convolution by Fourier transforms of twice the length.
at::Tensor S4d(const Case& c) {
  const int64_t n = c.tokens();
  const at::Tensor u = Joined(c.input().v).transpose(1, 2);  // [B, E, N]
  const at::Tensor a = at::complex(-c.Owned("log_decay").exp(), c.Owned("frequency"));
  const at::Tensor rate = a * c.Owned("log_step").exp().unsqueeze(1);  // [E, P]
  const at::Tensor weight =
      at::view_as_complex(c.Owned("read_out").contiguous()) * ((rate.exp() - 1) / a);
  const at::Tensor powers = (rate.unsqueeze(2) * at::arange(n)).exp();  // [E, P, N]
  const auto kernel = [&](int64_t direction) {
    return 2 * at::real(at::matmul(weight[direction].unsqueeze(1), powers)).squeeze(1);
  };
  at::Tensor response = at::constant_pad_nd(kernel(0), {0, n});
  if (!c.input().causal)  // the second direction starts at the next token
    response = response + at::constant_pad_nd(kernel(1).flip({1}), {n, 0});
  const at::Tensor spectrum = at::fft_rfft(u, 2 * n) * at::fft_rfft(response, 2 * n);
  const at::Tensor y =
      at::fft_irfft(spectrum, 2 * n).narrow(2, 0, n) + c.Owned("skip").unsqueeze(1) * u;
  return Heads(at::glu(
      at::linear(at::gelu(y.transpose(1, 2)), c.Owned("output.weight"), c.Owned("output.bias"))));
}

}  // namespace

const std::map<std::string, Composition>& MixingCompositions() {
  static const auto& all = *new std::map<std::string, Composition>{
      {"linformer", {"matmuls, softmax", Linformer, 1}},
      {"nystromformer", {"matmuls, softmaxes, conv2d", Nystromformer, 1}},
      {"synthesizer", {"matmuls, softmax, matmul", Synthesizer, 2}},
      {"sinkhorn", {"blocks: matmuls, softmax", Sinkhorn, 1}},
      {"fnet", {"fft2", Fnet, 1}},
      {"s4d", {"powers, rfft, irfft", S4d, 1}},
  };
  return all;
}

}  // namespace lra
