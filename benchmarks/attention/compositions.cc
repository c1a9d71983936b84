#include "benchmarks/attention/compositions.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <map>
#include <numbers>

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

// sum_j (q_i . k_j) v_j, over j <= i where causal; q and k after their feature map.
at::Tensor Products(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal) {
  if (!causal) return at::matmul(q, at::matmul(k.transpose(-1, -2), v));
  const at::Tensor states = (k.unsqueeze(-1) * v.unsqueeze(-2)).cumsum(2);  // [B, H, N, D, Dv]
  return at::matmul(q.unsqueeze(-2), states).squeeze(-2);
}

at::Tensor Normalised(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal) {
  const at::Tensor sums = causal ? k.cumsum(2) : k.sum(2, true);
  return Products(q, k, v, causal) / ((q * sums).sum(-1, true) + 1e-6);
}

using Map = at::Tensor (*)(const at::Tensor&);

Case::Form Linear(Map map) {
  return [map](const Case& c) {
    const AttentionInput& in = c.input();
    return Normalised(map(in.q), map(in.k), in.v, in.causal);
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

const std::map<std::string, Case::Form>& LinearForms() {
  static const auto& forms = *new std::map<std::string, Case::Form>{
      {"linear", Linear([](const at::Tensor& t) { return at::elu(t) + 1; })},
      {"relu", Linear([](const at::Tensor& t) { return t.relu(); })},
      {"leaky_relu", Linear([](const at::Tensor& t) { return at::leaky_relu(t); })},
      {"identity", Linear([](const at::Tensor& t) { return t; })},
      {"cosformer", Cosformer},
      {"cottention", Cottention},
  };
  return forms;
}

}  // namespace

Composition CompositionOf(const Method& method) {
  if (method.name == "transformer") return {"matmul, softmax, matmul", Softmax, 2};
  const auto found = LinearForms().find(method.name);
  if (found == LinearForms().end()) return {"dense oracle", Oracle, 2};
  return {method.causal ? "features, cumulative sums" : "features, matmuls", found->second, 1};
}

}  // namespace lra
