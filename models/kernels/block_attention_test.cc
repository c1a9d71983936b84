#include "models/kernels/block_attention.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "models/base/kernel_path.h"
#include "models/base/near_test_util.h"

namespace lra {
namespace {

struct BlockShape {
  const char* name;
  int64_t batch, heads, tokens, width, value_width, block;
  bool causal = false;
  bool masked = false;
};

// Returns random [B, H, N, width], laid out [B, N, H, width] as projections are.
at::Tensor Random(const BlockShape& s, int64_t width) {
  return at::randn({s.batch, s.tokens, s.heads, width}, at::kDouble).transpose(1, 2);
}

struct BlockInputs {
  BlockInputs(const BlockShape& shape, size_t sets) : s(shape) {
    at::manual_seed(7);
    q = Random(s, s.width);
    upstream = Random(s, s.value_width);
    for (size_t i = 0; i < sets; ++i) {
      keys.push_back({Random(s, s.width), Random(s, s.value_width), {}});
      if (s.masked) {
        keys[i].keep = at::rand({s.batch, s.tokens}) > 0.4;
        keys[i].keep[0].slice(0, 0, s.block).fill_(false);  // a block without keys
      }
    }
  }
  const BlockShape s;
  at::Tensor q, upstream;
  std::vector<BlockKeys> keys;
};

// Returns the output, dq, and then dk and dv of each set of keys.
template <class Function>
std::vector<at::Tensor> BlockOutcome(const BlockInputs& in, at::ScalarType type,
                                     Function function) {
  const auto leaf = [type](const at::Tensor& t) {
    return t.detach().to(type).set_requires_grad(true);
  };
  const at::Tensor q = leaf(in.q);
  std::vector<BlockKeys> keys;
  for (const BlockKeys& set : in.keys) keys.push_back({leaf(set.k), leaf(set.v), set.keep});
  const at::Tensor output = function(q, keys);
  (output * in.upstream.to(type)).sum().backward();
  std::vector<at::Tensor> all = {output.detach(), q.grad()};
  for (const BlockKeys& set : keys) {
    all.push_back(set.k.grad());
    all.push_back(set.v.grad());
  }
  return all;
}

// Computes each query by itself, from the definition.
at::Tensor BlockDefinition(const BlockShape& s, const at::Tensor& q,
                           const std::vector<BlockKeys>& keys) {
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < s.tokens; ++i) {
    const int64_t first = i / s.block * s.block, end = std::min(first + s.block, s.tokens);
    std::vector<at::Tensor> scores, values;
    for (size_t set = 0; set < keys.size(); ++set) {
      for (int64_t j = first; j < (s.causal && set == 0 ? i + 1 : end); ++j) {
        at::Tensor score =
            (q.select(2, i) * keys[set].k.select(2, j)).sum(-1) / std::sqrt(double(s.width));
        if (keys[set].keep.defined())
          score = score.masked_fill(keys[set].keep.select(1, j).logical_not().unsqueeze(1), -1e300);
        scores.push_back(score);
        values.push_back(keys[set].v.select(2, j));
      }
    }
    const at::Tensor all = at::stack(scores, -1), seen = all.detach() > -1e299;  // [B, H, keys]
    const at::Tensor weights = at::softmax(all, -1) * seen;
    rows.push_back((weights.unsqueeze(-1) * at::stack(values, 2)).sum(2));
  }
  return at::stack(rows, 2);
}

class BlockAttentionTest : public testing::TestWithParam<BlockShape> {};

TEST_P(BlockAttentionTest, EqualsTheDefinitionWithItsGradients) {
  const BlockShape s = GetParam();
  for (const size_t sets : {1, 2}) {
    const BlockInputs in(s, sets);
    const auto expected = BlockOutcome(in, at::kDouble, [&](const auto& q, const auto& keys) {
      return BlockDefinition(s, q, keys);
    });
    const auto run = [&](at::ScalarType type) {
      return BlockOutcome(in, type, [&](const auto& q, const auto& keys) {
        return BlockAttention(q, keys, s.block, s.causal);
      });
    };
    ExpectNear(run(at::kDouble), expected, 1e-12);
    for (const KernelPath path : AvailableKernelPaths()) {
      const ScopedKernelPath use(path);
      SCOPED_TRACE(KernelPathName(path));
      ExpectNear(run(at::kFloat), expected, 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BlockAttentionTest,
                         testing::Values(BlockShape{"whole", 2, 3, 48, 16, 16, 16},
                                         BlockShape{"ragged", 2, 2, 45, 5, 7, 16},
                                         BlockShape{"single", 1, 2, 7, 4, 4, 1},
                                         BlockShape{"larger", 1, 2, 9, 4, 4, 64},
                                         BlockShape{"causal", 2, 2, 45, 8, 8, 10, true},
                                         BlockShape{"masked", 3, 2, 45, 8, 8, 10, false, true},
                                         BlockShape{"both", 3, 2, 40, 8, 8, 10, true, true},
                                         BlockShape{"aligned", 1, 2, 160, 16, 32, 80, true},
                                         BlockShape{"tiles", 2, 2, 200, 16, 16, 90, true, true},
                                         BlockShape{"wide", 1, 2, 150, 80, 96, 72, false, true}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BlockAttentionTest, NanInMaskedKeysHasNoEffect) {
  const BlockInputs clean({"", 2, 2, 40, 8, 8, 10, true, true}, 2);
  BlockInputs dirty = clean;
  for (BlockKeys& set : dirty.keys) {
    const at::Tensor masked = set.keep.logical_not().view({2, 1, 40, 1});
    set.k = set.k.masked_fill(masked, std::numeric_limits<double>::quiet_NaN());
    set.v = set.v.masked_fill(masked, std::numeric_limits<double>::quiet_NaN());
  }
  const auto run = [](const BlockInputs& in) {
    return BlockOutcome(in, at::kFloat, [](const auto& q, const auto& keys) {
      return BlockAttention(q, keys, 10, true);
    });
  };
  const auto expected = run(clean), actual = run(dirty);
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i])) << i;
}

TEST(BlockAttentionTest, ThreadsChangeNothing) {
  const BlockInputs in({"", 2, 3, 100, 8, 8, 16}, 2);
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    return BlockOutcome(in, at::kFloat, [](const auto& q, const auto& keys) {
      return BlockAttention(q, keys, 16, false);
    });
  };
  const int before = at::get_num_threads();
  const auto one = run(1), two = run(2);
  at::set_num_threads(before);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], two[i])) << i;
}

}  // namespace
}  // namespace lra
