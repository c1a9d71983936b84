#include "models/kernels/grouped_attention.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>

#include "models/base/allocation_meter.h"
#include "models/base/kernel_path.h"
#include "models/base/near_test_util.h"
#include "models/kernels/pattern_oracle.h"

namespace lra {
namespace {

at::Tensor Long(std::vector<int64_t> values, at::IntArrayRef shape) {
  return at::tensor(values, at::kLong).view(shape);
}

// 3 examples, 2 heads, 11 tokens. Example 1 has 6 tokens, example 2 has none.
struct GroupedCase {
  at::Tensor q, k, v, keep, upstream;
  DropoutKey dropout;
  std::vector<AttentionGroups> parts{2};

  GroupedCase() {
    at::manual_seed(1);
    const auto options = at::TensorOptions(at::kDouble);
    for (at::Tensor* t : {&q, &k, &v, &upstream}) *t = at::randn({3, 2, 11, 5}, options);
    keep = at::ones({3, 11}, at::kBool);
    keep[1].slice(0, 6).fill_(false);
    keep[2].fill_(false);
    // Three blocks of 4 queries. Their keys are two runs of 3, which differ between heads and stick
    // out at both ends. A mask hides some places (query, key), and a condition hides some
    // positions.
    parts[0].queries = Blocks(11, 4, at::kCPU);
    parts[0].keys.starts = Long({-1, 6, 2, 5, kNoRun, 9, 0, 3, 1, 4, 7, kNoRun}, {1, 2, 3, 2});
    parts[0].keys.run_tokens = 3;
    parts[0].pairs = (at::arange(24).view({4, 6}) * 7).remainder(5) != 0;
    parts[0].sees = [](const GroupTile& t) { return (t.queries + t.keys).remainder(3) != 1; };
    // Queries 10, 1, 4 see all keys of one run once more; those of example 0 also see others.
    parts[1].queries.starts = Long({10, 1, 4}, {1, 1, 1, 3});
    parts[1].keys.starts = Long({0, 5, 2}, {3, 1, 1, 1});
    parts[1].keys.run_tokens = 5;
    parts[1].bias = [](const GroupTile& t) { return t.keys.to(at::kDouble) * 0.1; };
  }

  // How often query i sees key j, weighted by the exponential of the bias.
  at::Tensor Counts() const {
    at::Tensor counts = at::zeros({3, 2, 11, 11}, at::kDouble);
    for (int64_t e = 0; e < 3; ++e) {
      for (int64_t h = 0; h < 2; ++h) {
        for (const AttentionGroups& part : parts) Count(part, e, h, counts[e][h]);
      }
    }
    return counts;
  }

  static void Count(const AttentionGroups& part, int64_t e, int64_t h, at::Tensor counts) {
    const auto runs = [&](const TokenRuns& r, int64_t group) {
      std::vector<int64_t> tokens;
      const at::Tensor starts = r.starts[r.starts.size(0) > 1 ? e : 0][r.starts.size(1) > 1 ? h : 0]
                                        [r.starts.size(2) > 1 ? group : 0];
      for (int64_t s = 0; s < starts.size(0); ++s) {
        for (int64_t t = 0; t < r.run_tokens; ++t) tokens.push_back(starts[s].item<int64_t>() + t);
      }
      return tokens;
    };
    for (int64_t g = 0; g < part.queries.starts.size(2); ++g) {
      const std::vector<int64_t> queries = runs(part.queries, g), keys = runs(part.keys, g);
      for (size_t a = 0; a < queries.size(); ++a) {
        for (size_t b = 0; b < keys.size(); ++b) {
          const int64_t i = queries[a], j = keys[b];
          if (i < 0 || i > 10 || j < 0 || j > 10) continue;
          if (part.pairs.defined() && !part.pairs[a][b].item<bool>()) continue;
          if (part.sees && (i + j) % 3 == 1) continue;
          counts[i][j] += part.bias ? std::exp(0.1 * j) : 1.0;
        }
      }
    }
  }
};

std::vector<at::Tensor> GroupedOutcome(const GroupedCase& c, bool dense,
                                       at::ScalarType type = at::kDouble) {
  const auto leaf = [type](const at::Tensor& t) {
    return t.to(type, false, true).set_requires_grad(true);
  };
  at::Tensor q = leaf(c.q), k = leaf(c.k), v = leaf(c.v);
  at::Tensor output;
  if (dense) {
    const at::Tensor counts = c.Counts();
    const at::Tensor logits = at::matmul(q, k.transpose(-1, -2)) / std::sqrt(5.0);
    output =
        DenseMaskedSoftmax(logits + counts.clamp_min(1e-9).log(), v, c.keep, counts > 0, c.dropout);
  } else {
    output = GroupedAttention(q, k, v, c.keep, c.parts, c.dropout);
  }
  (output * c.upstream.to(type)).sum().backward();
  return {output.detach(), q.grad(), k.grad(), v.grad()};
}

// In float64, and in float32 on every path.
void ExpectEqualsDense(const GroupedCase& c) {
  const std::vector<at::Tensor> dense = GroupedOutcome(c, true);
  ExpectNear(GroupedOutcome(c, false), dense, 1e-13);
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    SCOPED_TRACE(KernelPathName(path));
    const std::vector<at::Tensor> single = GroupedOutcome(c, false, at::kFloat);
    ExpectNear(single, dense, 2e-5);
    for (const at::Tensor& t : single) {
      if (!c.keep.defined()) continue;
      EXPECT_EQ(t[2].abs().max().item<double>(), 0);  // the example without keys
    }
  }
}

TEST(GroupedAttentionTest, EqualsTheDenseFormWithItsGradients) {
  GroupedCase c;
  ExpectEqualsDense(c);
  c.dropout = {0.4, 1, 2, 3, Long({5, 6, 7}, {3})};
  ExpectEqualsDense(c);
  c.keep = at::Tensor();
  ExpectEqualsDense(c);
}

// More queries than lanes and more keys than a chunk of the tiled form has; pairs, self pairs and a
// second part whose queries are in no order.
struct LargeCase : GroupedCase {
  LargeCase() {
    const auto options = at::TensorOptions(at::kDouble);
    for (at::Tensor* t : {&q, &k, &v, &upstream}) *t = at::randn({3, 2, 300, 20}, options);
    keep = at::rand({3, 300}) > 0.3;
    keep[2].fill_(false);
    parts = std::vector<AttentionGroups>(2);
    parts[0].queries = parts[0].keys = Blocks(300, 150, at::kCPU);
    parts[0].self_pairs = at::eye(150, at::kBool);
    parts[0].pairs = at::rand({150, 150}) > 0.2;
    parts[1].queries.starts = at::randperm(300).slice(0, 0, 280).view({1, 1, 4, 70});
    parts[1].keys.starts = Long({0, 3, 290, 20}, {1, 1, 4, 1});
    parts[1].keys.run_tokens = 40;
    parts[1].sees = [](const GroupTile& t) { return t.keys.remainder(5) != 2; };
  }

  at::Tensor Dense(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const {
    at::Tensor own = at::zeros({300, 300}), self = at::zeros({300, 300}, at::kBool),
               other = at::zeros({300, 300});
    for (int64_t b = 0; b < 300; b += 150) {
      own.slice(0, b, b + 150).slice(1, b, b + 150).copy_(parts[0].pairs);
      self.slice(0, b, b + 150).slice(1, b, b + 150).copy_(parts[0].self_pairs);
    }
    for (int64_t g = 0; g < 4; ++g) {
      const int64_t start = parts[1].keys.starts[0][0][g][0].item<int64_t>();
      for (int64_t j = start; j < std::min<int64_t>(start + 40, 300); ++j) {
        if (j % 5 != 2)
          other.select(1, j).index_add_(0, parts[1].queries.starts[0][0][g], at::ones(70));
      }
    }
    const at::Tensor logits = at::matmul(q, k.mT()) / std::sqrt(20.0);
    const at::Tensor weights =
        own * at::exp(logits.masked_fill(self, kSelfLogit)) + other * at::exp(logits);
    const at::Tensor kept = weights * keep.view({3, 1, 1, 300});
    return at::matmul(kept / kept.sum(-1, true).clamp_min(1e-300), v);
  }
};

TEST(GroupedAttentionTest, ChunksOfKeysAndTilesOfQueriesChangeNothing) {
  const LargeCase c;
  at::Tensor inputs[3] = {c.q.clone(), c.k.clone(), c.v.clone()};
  for (at::Tensor& t : inputs) t.set_requires_grad(true);
  const at::Tensor output = c.Dense(inputs[0], inputs[1], inputs[2]);
  (output * c.upstream).sum().backward();
  const std::vector<at::Tensor> dense = {output.detach(), inputs[0].grad(), inputs[1].grad(),
                                         inputs[2].grad()};
  ExpectNear(GroupedOutcome(c, false), dense, 1e-12);
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    SCOPED_TRACE(KernelPathName(path));
    ExpectNear(GroupedOutcome(c, false, at::kFloat), dense, 2e-5);
  }
}

TEST(GroupedAttentionTest, ThreadsChangeNothing) {
  LargeCase c;
  c.dropout = {0.4, 1, 2, 3, Long({5, 6, 7}, {3})};
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<at::Tensor> one = GroupedOutcome(c, false, at::kFloat);
  at::set_num_threads(3);
  const std::vector<at::Tensor> three = GroupedOutcome(c, false, at::kFloat);
  at::set_num_threads(before);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], three[i])) << i;
}

TEST(GroupedAttentionTest, RowsThatThePatternLeavesWithoutKeysAreZero) {
  GroupedCase c;
  c.parts.resize(1);
  c.parts[0].keys.starts.fill_(kNoRun);
  c.parts[0].keys.starts[0][0][1][0] = 2;
  at::Tensor q = c.q.clone().set_requires_grad(true);
  const at::Tensor output = GroupedAttention(q, c.k, c.v, at::Tensor(), c.parts, {});
  (output * c.upstream).sum().backward();
  for (const at::Tensor& t : {output, q.grad()}) {
    EXPECT_EQ(t[0][1].abs().max().item<double>(), 0);
    EXPECT_EQ(t[0][0].slice(0, 0, 4).abs().max().item<double>(), 0);
    EXPECT_GT(t[0][0].slice(0, 4, 8).abs().max().item<double>(), 0);
  }
}

TEST(GroupedAttentionTest, SelfPairsCountOnlyForWantOfOthers) {
  GroupedCase c;
  AttentionGroups own;
  own.queries = own.keys = Blocks(11, 4, at::kCPU);
  own.self_pairs = at::eye(4, at::kBool);
  const at::Tensor output = GroupedAttention(c.q, c.k, c.v, at::Tensor(), {own}, {});
  AttentionGroups others = own;
  others.self_pairs = at::Tensor();
  others.pairs = at::eye(4, at::kBool).logical_not();
  EXPECT_LT((output - GroupedAttention(c.q, c.k, c.v, at::Tensor(), {others}, {}))
                .abs()
                .max()
                .item<double>(),
            1e-15);
  AttentionGroups hidden = own;
  hidden.hides_self_pairs = true;
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    const auto attend = [&](const AttentionGroups& groups) {
      return GroupedAttention(c.q.to(type), c.k.to(type), c.v.to(type), at::Tensor(), {groups}, {});
    };
    EXPECT_TRUE(attend(hidden).equal(attend(others)));
  }
  own.pairs = own.self_pairs;
  EXPECT_LT(
      (GroupedAttention(c.q, c.k, c.v, at::Tensor(), {own}, {}) - c.v).abs().max().item<double>(),
      1e-15);
  // The constant gets no gradient.
  at::Tensor q = c.q.clone().set_requires_grad(true);
  (GroupedAttention(q, c.k, c.v, at::Tensor(), {own}, {}) * c.upstream).sum().backward();
  EXPECT_EQ(q.grad().abs().max().item<double>(), 0);
}

TEST(GroupedAttentionTest, NanInMaskedKeysHasNoEffect) {
  const GroupedCase clean;
  GroupedCase dirty;
  const at::Tensor masked = clean.keep.logical_not().view({3, 1, 11, 1});
  dirty.k = dirty.k.masked_fill(masked, std::numeric_limits<double>::quiet_NaN());
  dirty.v = dirty.v.masked_fill(masked, std::numeric_limits<double>::quiet_NaN());
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    const std::vector<at::Tensor> expected = GroupedOutcome(clean, false, type),
                                  actual = GroupedOutcome(dirty, false, type);
    for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i])) << i;
  }
}

// 800 queries of one group see 800 keys; this makes two tiles, each with a range of queries.
TEST(GroupedAttentionTest, TilesOfQueriesChangeNothing) {
  at::manual_seed(2);
  at::Tensor x[3], y[3];
  for (int i = 0; i < 3; ++i) {
    x[i] = at::randn({1, 1, 800, 4}, at::kDouble).set_requires_grad(true);
    y[i] = x[i].detach().clone().set_requires_grad(true);
  }
  AttentionGroups all;
  all.queries = all.keys = AllTokens(800, at::kCPU);
  all.pairs = at::ones({800, 800}, at::kBool).tril();
  const at::Tensor upstream = at::randn({1, 1, 800, 4}, at::kDouble);
  const at::Tensor output = GroupedAttention(x[0], x[1], x[2], at::Tensor(), {all}, {});
  const at::Tensor dense = DensePatternAttention(y[0], y[1], y[2], at::Tensor(), all.pairs, {});
  (output * upstream).sum().backward();
  (dense * upstream).sum().backward();
  EXPECT_LE((output - dense).abs().max().item<double>(), 1e-13);
  for (int i = 0; i < 3; ++i)
    EXPECT_LE((x[i].grad() - y[i].grad()).abs().max().item<double>(), 1e-12) << i;
}

// Forward and backward for N = 16,384, H = 8, D = 64. The inputs (96 MB) are there before. Then
// come the output, its gradient and those of the inputs (160 MB), and the positions of a tile of
// groups. The weights of all groups would take another 34 MB, and a plain backward holds three such
// tensors.
TEST(GroupedAttentionTest, MemoryIsThatOfTheGradients) {
  const int64_t n = 16384, input_bytes = 3 * 8 * n * 64 * 4;
  at::Tensor inputs[3];
  for (at::Tensor& t : inputs) t = at::ones({1, n, 8, 64}).transpose(1, 2).set_requires_grad(true);
  AttentionGroups own;
  own.queries = own.keys = Blocks(n, 64, at::kCPU);
  const MeteredScope metered;
  const at::Tensor output =
      GroupedAttention(inputs[0], inputs[1], inputs[2], at::Tensor(), {own}, {});
  output.sum().backward();
  EXPECT_LT(metered.meter().peak_bytes(), 1.8 * static_cast<double>(input_bytes));
}

}  // namespace
}  // namespace lra
