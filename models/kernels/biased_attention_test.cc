#include "models/kernels/biased_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lra {
namespace {

at::Tensor Numbers(at::IntArrayRef shape, double phase) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return at::sin(phase + 1.3 * at::arange(count, at::kDouble)).view(shape);
}

double Worst(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

struct Case {
  at::Tensor q, k, v, bias, keep, upstream;
  bool causal = false;
};

Case MakeCase(int64_t queries, int64_t keys) {
  Case c = {Numbers({2, 3, queries, 4}, 0.1), Numbers({2, 3, keys, 4}, 0.7),
            Numbers({2, 3, keys, 5}, 0.2),    Numbers({3, queries, keys}, 1.9),
            at::ones({2, keys}, at::kBool),   Numbers({2, 3, queries, 5}, 0.5)};
  c.keep[1].slice(0, keys / 2).fill_(false);
  return c;
}

// One softmax after another, by the definition.
at::Tensor Dense(const Case& c) {
  const int64_t queries = c.upstream.size(2), keys = c.v.size(2);
  at::Tensor logits = at::zeros({2, 3, queries, keys}, at::kDouble);
  if (c.q.defined()) logits = logits + at::matmul(c.q, c.k.transpose(-1, -2));
  if (c.bias.defined()) logits = logits + c.bias;
  at::Tensor masked = c.keep.logical_not().view({2, 1, 1, keys});
  if (c.causal)
    masked = masked.logical_or(at::ones({queries, keys}, at::kBool).triu(1 + keys - queries));
  const at::Tensor e = at::exp(logits).masked_fill(masked, 0), sum = e.sum(-1, true);
  return at::matmul(e / sum.masked_fill(sum == 0, 1), c.v);
}

void ExpectDense(Case c) {
  std::vector<at::Tensor> expected, actual;
  for (auto [form, out] : {std::pair{0, &expected}, {1, &actual}}) {
    for (at::Tensor* t : {&c.q, &c.k, &c.v, &c.bias})
      if (t->defined()) *t = t->detach().clone().set_requires_grad(true);
    const at::Tensor o =
        form == 0 ? Dense(c) : BiasedAttention(c.q, c.k, c.v, c.bias, c.keep, c.causal);
    o.backward(c.upstream);
    *out = {o.detach()};
    for (const at::Tensor& t : {c.q, c.k, c.v, c.bias})
      if (t.defined()) out->push_back(t.grad());
  }
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LT(Worst(actual[i], expected[i]), 1e-13) << "output or gradient " << i;
}

TEST(BiasedAttentionTest, EqualsTheDenseForm) {
  for (const auto& [queries, keys] :
       {std::pair<int64_t, int64_t>{1, 1}, {7, 7}, {3, 8}, {8, 3}, {33, 33}}) {
    SCOPED_TRACE(queries);
    for (const bool causal : {false, true}) {
      Case c = MakeCase(queries, keys);
      c.causal = causal;
      ExpectDense(c);
      Case only_bias = c, only_products = c;
      only_bias.q = only_bias.k = at::Tensor();
      ExpectDense(only_bias);
      only_products.bias = at::Tensor();
      ExpectDense(only_products);
    }
  }
}

// 600 queries are at least two tiles.
TEST(BiasedAttentionTest, TilesDoNotShow) {
  const at::Tensor q = Numbers({1, 1, 600, 4}, 0.3), k = Numbers({1, 1, 600, 4}, 0.4),
                   v = Numbers({1, 1, 600, 2}, 0.5), bias = Numbers({1, 600, 600}, 0.6);
  const at::Tensor logits = at::matmul(q, k.transpose(-1, -2)) + bias;
  const at::Tensor expected = at::matmul(at::softmax(logits, -1), v);
  EXPECT_LT(Worst(BiasedAttention(q, k, v, bias, at::Tensor(), false), expected), 1e-13);
  const at::Tensor future = at::ones({600, 600}, at::kBool).triu(1);
  const at::Tensor causal = at::matmul(at::softmax(logits.masked_fill(future, -1e30), -1), v);
  EXPECT_LT(Worst(BiasedAttention(q, k, v, bias, at::Tensor(), true), causal), 1e-13);
}

TEST(BiasedAttentionTest, NaNInMaskedKeysHasNoEffect) {
  Case c = MakeCase(6, 6);
  const at::Tensor clean = BiasedAttention(c.q, c.k, c.v, c.bias, c.keep, false);
  c.k = c.k.clone();
  c.v = c.v.clone();
  c.k[1].slice(1, 3).fill_(std::nan(""));
  c.v[1].slice(1, 3).fill_(std::nan(""));
  EXPECT_EQ(Worst(BiasedAttention(c.q, c.k, c.v, c.bias, c.keep, false), clean), 0);
}

}  // namespace
}  // namespace lra
