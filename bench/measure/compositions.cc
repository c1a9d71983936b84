#include "bench/measure/compositions.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/full.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

at::Tensor Softmax(const Case& c) {
  const AttentionInput& in = c.input();
  const int64_t n = c.tokens();
  at::Tensor scores = at::matmul(in.q / std::sqrt(double(kHeadWidth)), in.k.transpose(-1, -2));
  if (in.causal) {
    scores = scores.masked_fill(at::ones({n, n}, at::kBool).triu(1),
                                -std::numeric_limits<float>::infinity());
  }
  return at::matmul(at::softmax(scores, -1), in.v);
}

// sum_j (q_i . k_j) v_j, over j <= i if causal; q and k have gone through their feature map.
at::Tensor Products(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal) {
  if (!causal) return at::matmul(q, at::matmul(k.transpose(-1, -2), v));
  const at::Tensor states = (k.unsqueeze(-1) * v.unsqueeze(-2)).cumsum(2);  // [B, H, N, D, Dv]
  return at::matmul(q.unsqueeze(-2), states).squeeze(-2);
}

at::Tensor Normalised(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                      double epsilon = 1e-6) {
  const at::Tensor sums = causal ? k.cumsum(2) : k.sum(2, true);
  return Products(q, k, v, causal) / ((q * sums).sum(-1, true) + epsilon);
}

// Divides weights of both signs by their row sum, which is kept at least a hundredth of what the
// norms of its two factors allow.
at::Tensor SignedNormalised(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            bool causal) {
  const at::Tensor sums = causal ? k.cumsum(2) : k.sum(2, true);
  const at::Tensor sum = (q * sums).sum(-1, true);
  const at::Tensor floor =
      (0.01 * q.norm(2, -1, true) * sums.norm(2, -1, true)).clamp_min(1e-6).detach();
  const at::Tensor bounded = at::where(sum < 0, -floor, floor);
  return Products(q, k, v, causal) / at::where(sum.abs() >= floor, sum, bounded);
}

using Map = at::Tensor (*)(const at::Tensor&);

Case::Form Linear(Map map) {
  return [map](const Case& c) {
    const AttentionInput& in = c.input();
    return Normalised(map(in.q), map(in.k), in.v, in.causal);
  };
}

Case::Form SignedLinear(Map map) {
  return [map](const Case& c) {
    const AttentionInput& in = c.input();
    return SignedNormalised(map(in.q), map(in.k), in.v, in.causal);
  };
}

at::Tensor Cosformer(const Case& c) {
  const AttentionInput& in = c.input();
  const int64_t n = c.tokens();
  const at::Tensor angles =
      at::arange(n, in.q.options()).unsqueeze(1) * (std::numbers::pi / 2 / double(n));
  const at::Tensor cosine = angles.cos(), sine = angles.sin();
  const auto rotate = [&](const at::Tensor& t) {
    const at::Tensor features = t.relu();
    return at::cat({features * cosine, features * sine}, -1);
  };
  return Normalised(rotate(in.q), rotate(in.k), in.v, in.causal);
}

at::Tensor Cottention(const Case& c) {
  const AttentionInput& in = c.input();
  const auto unit = [](const at::Tensor& t) { return t / t.norm(2, -1, true).clamp_min(1e-6); };
  const int64_t n = c.tokens();
  const at::Tensor lengths = in.causal ? at::arange(1, n + 1, in.q.options()).unsqueeze(1)
                                       : at::full({1, 1}, double(n), in.q.options());
  const at::Tensor m = at::full({kHeads, 1, 1}, 0.5).set_requires_grad(true);
  return Products(unit(in.q), unit(in.k), in.v, in.causal) / lengths.pow(m.sigmoid());
}

// exp(w . x' - |x'|^2 / 2) with x' = x D^-1/4. Factors common to a query or to all keys cancel.
at::Tensor Performer(const Case& c) {
  const AttentionInput& in = c.input();
  const at::Tensor w = c.Owned("projection");
  const auto logarithms = [&](const at::Tensor& x) {
    const at::Tensor scaled = x * std::pow(double(kHeadWidth), -0.25);
    return at::matmul(scaled, w.t()) - scaled.square().sum(-1, true) / 2;
  };
  const at::Tensor q = logarithms(in.q), k = logarithms(in.k);
  return Normalised((q - q.detach().amax(-1, true)).exp(),
                    (k - k.detach().amax({-2, -1}, true)).exp(), in.v, in.causal, 0);
}

// [sin(w . x^), cos(w . x^)] / sqrt(M) with x^ = sigma x / |x|; row sums are at least 0.02 a key.
at::Tensor Rfa(const Case& c) {
  const AttentionInput& in = c.input();
  const at::Tensor w = c.Owned("projection"), sigma = c.Owned("scale").unsqueeze(1);
  const auto features = [&](const at::Tensor& x) {
    const at::Tensor angles = at::matmul(x / x.norm(2, -1, true) * sigma, w.t());
    return at::cat({angles.sin(), angles.cos()}, -1) / std::sqrt(double(w.size(0)));
  };
  const at::Tensor q = features(in.q), k = features(in.k);
  const int64_t n = c.tokens();
  const at::Tensor seen = in.causal ? at::arange(1, n + 1, in.q.options()).unsqueeze(1)
                                    : at::full({1, 1}, double(n), in.q.options());
  const at::Tensor sums = (q * (in.causal ? k.cumsum(2) : k.sum(2, true))).sum(-1, true);
  return Products(q, k, in.v, in.causal) / at::maximum(sums, 0.02 * seen);
}

const std::map<std::string, Case::Form>& LinearForms() {
  static const auto& forms = *new std::map<std::string, Case::Form>{
      {"linear", Linear([](const at::Tensor& t) { return at::elu(t) + 1; })},
      {"relu", Linear([](const at::Tensor& t) { return t.relu(); })},
      {"leaky_relu", SignedLinear([](const at::Tensor& t) { return at::leaky_relu(t); })},
      {"identity", SignedLinear([](const at::Tensor& t) { return t; })},
      {"cosformer", Cosformer},
      {"factorized", Cosformer},
      {"cottention", Cottention},
      {"performer", Performer},
      {"rfa", Rfa},
  };
  return forms;
}

}  // namespace

Composition CompositionOf(const BenchRequest& request) {
  if (request.attention() == "transformer") return {"matmul, softmax, matmul", Softmax, 2};
  const auto linear = LinearForms().find(request.attention());
  if (linear != LinearForms().end())
    return {request.causal() ? "features, cumulative sums" : "features, matmuls", linear->second,
            1};
  for (const auto* others : {&PatternCompositions(), &MixingCompositions()}) {
    auto found = others->end();
    if (request.causal()) found = others->find(absl::StrCat(request.attention(), ", causal"));
    if (found == others->end()) found = others->find(request.attention());
    if (found != others->end()) return found->second;
  }
  return {"dense oracle", Oracle, 2};
}

}  // namespace lra
