#include "models/kernels/softmax_attention.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <limits>
#include <string>

#include "models/base/bfloat16_paths_test_util.h"
#include "models/base/kernel_path.h"
#include "models/base/near_test_util.h"
#include "models/base/product_type.h"
#include "models/kernels/softmax_cases_test_util.h"

namespace lra {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Inputs {
  at::Tensor q, k, v, keep, bias, upstream, slopes;
  DropoutKey dropout;
  bool causal;
};

// Returns random [B, H, N, D], laid out [B, N, H, D] inside a wider tensor, as slices of a
// projection are.
at::Tensor Random(int64_t batch, int64_t heads, int64_t tokens, int64_t width) {
  return at::randn({batch, tokens, heads, 2 * width}, at::kDouble)
      .narrow(3, 0, width)
      .transpose(1, 2);
}

Inputs Make(const SoftmaxCase& c) {
  at::manual_seed(7);
  Inputs in;
  const at::Tensor is_stretched = at::arange(c.queries).remainder(c.stretch_every) == 0;
  in.q = Random(c.batch, c.heads, c.queries, c.width) *
         at::where(is_stretched, c.stretch, 1.0).unsqueeze(1);
  in.k = Random(c.batch, c.heads, c.keys, c.width);
  in.v = Random(c.batch, c.heads, c.keys, c.value_width);
  in.upstream = at::randn({c.batch, c.heads, c.queries, c.value_width}, at::kDouble);
  in.causal = c.causal;
  if (c.has_slopes) in.slopes = at::exp2(-at::arange(1, c.heads + 1, at::kDouble) * 2);
  if (c.has_bias) in.bias = at::randn({c.heads, c.queries, c.keys}, at::kDouble);
  if (c.mask == SoftmaxCase::kLengths) {  // the last example has no keys
    const at::Tensor lengths = at::arange(c.batch - 1, -1, -1, at::kLong) * c.keys / c.batch;
    in.keep = at::arange(c.keys, at::kLong) < lengths.unsqueeze(1);
  }
  if (c.mask == SoftmaxCase::kScattered) in.keep = at::rand({c.batch, c.keys}) < 0.6;
  if (c.dropout > 0) {
    in.dropout = {c.dropout, 5, 6, 7, at::arange(11, 11 + 3 * c.batch, 3, at::kLong)};
  }
  return in;
}

struct SoftmaxOutcome {
  at::Tensor output, dq, dk, dv, dbias;
};

template <class Function>
SoftmaxOutcome Differentiate(const Inputs& in, at::ScalarType type, Function function) {
  const auto leaf = [type](const at::Tensor& t) {
    // Strides stay as they are.
    return t.defined() ? t.detach().to(type).set_requires_grad(true) : t;
  };
  const at::Tensor q = leaf(in.q), k = leaf(in.k), v = leaf(in.v), bias = leaf(in.bias);
  const at::Tensor output = function(q, k, v, bias);
  (output * in.upstream.to(type)).sum().backward();
  return {output.detach(), q.grad(), k.grad(), v.grad(), bias.defined() ? bias.grad() : bias};
}

SoftmaxOutcome Fast(const Inputs& in, at::ScalarType type) {
  return Differentiate(in, type, [&](const auto& q, const auto& k, const auto& v, const auto& b) {
    return SoftmaxAttention(q, k, v, in.keep, in.dropout, in.causal, b, in.slopes);
  });
}

// Computes the definition, with the whole matrix of weights.
SoftmaxOutcome Dense(const Inputs& in) {
  return Differentiate(
      in, at::kDouble, [&](const auto& q, const auto& k, const auto& v, const auto& bias) {
        const int64_t n = q.size(2), keys = k.size(2);
        at::Tensor visible = at::ones({q.size(0), 1, n, keys}, at::kBool);
        if (in.keep.defined()) visible = visible.logical_and(in.keep.view({-1, 1, 1, keys}));
        if (in.causal) visible = visible.logical_and(at::ones({n, keys}, at::kBool).tril(keys - n));
        at::Tensor scores = at::einsum("bhic,bhjc->bhij", {q, k}) / std::sqrt(double(q.size(3)));
        if (bias.defined()) scores = scores + bias;
        if (in.slopes.defined()) {
          const at::Tensor distance =
              (at::arange(keys - n, keys).unsqueeze(1) - at::arange(keys)).abs();
          scores = scores - in.slopes.view({-1, 1, 1}) * distance;
        }
        const at::Tensor hidden = visible.logical_not();
        const at::Tensor highest = scores.detach().masked_fill(hidden, -1e300).amax(-1, true);
        const at::Tensor powers =
            (scores - highest).masked_fill(hidden, 0).exp().masked_fill(hidden, 0);
        const at::Tensor sums = powers.sum(-1, true);
        at::Tensor weights = powers / sums.masked_fill(sums == 0, 1);
        weights = weights *
                  WeightDropoutMask(in.dropout.active()
                                        ? in.dropout
                                        : DropoutKey{0, 0, 0, 0, at::arange(q.size(0), at::kLong)},
                                    q.size(1), n, keys);
        return at::einsum("bhij,bhjc->bhic", {weights, v});
      });
}

void ExpectSame(const SoftmaxOutcome& actual, const SoftmaxOutcome& expected, double tolerance) {
  ExpectNear(actual.output, expected.output, tolerance, "output");
  ExpectNear(actual.dq, expected.dq, tolerance, "dq");
  ExpectNear(actual.dk, expected.dk, tolerance, "dk");
  ExpectNear(actual.dv, expected.dv, tolerance, "dv");
  ExpectNear(actual.dbias, expected.dbias, tolerance, "dbias");
}

bool AreEqual(const SoftmaxOutcome& a, const SoftmaxOutcome& b) {
  return at::equal(a.output, b.output) && at::equal(a.dq, b.dq) && at::equal(a.dk, b.dk) &&
         at::equal(a.dv, b.dv);
}

// Slices of one projection, [B, N, 3, H, D] seen as [B, H, N, D], give values and gradients of
// dense copies bit for bit. Where channels lie apart, LibTorch's products may add in another order.
TEST(SoftmaxAttentionTest, StridedInputsGiveWhatDenseOnesGive) {
  at::manual_seed(3);
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor projected = at::randn({2, 70, 3, 2, 8}, type);
    const at::Tensor apart = at::randn({3, 2, 2, 8, 70}, type);
    const at::Tensor keep = at::rand({70, 2}).t() < 0.7;
    const at::Tensor upstream = at::randn({2, 70, 2, 8}, type).transpose(1, 2);
    for (const bool is_projected : {true, false}) {
      SCOPED_TRACE(is_projected);
      const auto part = [&](int64_t i) {
        return is_projected ? projected.select(2, i).transpose(1, 2)
                            : apart.select(0, i).transpose(2, 3);
      };
      const auto run = [&](bool is_dense) {
        SoftmaxOutcome outcome;
        at::Tensor leaves[3];
        for (int64_t i = 0; i < 3; ++i) {
          leaves[i] = (is_dense ? part(i).contiguous() : part(i)).detach().set_requires_grad(true);
          EXPECT_EQ(leaves[i].is_contiguous(), is_dense);  // strides stay
        }
        outcome.output = SoftmaxAttention(leaves[0], leaves[1], leaves[2], keep, {});
        (outcome.output * upstream).sum().backward();
        outcome.dq = leaves[0].grad(), outcome.dk = leaves[1].grad(), outcome.dv = leaves[2].grad();
        return outcome;
      };
      if (is_projected) {
        EXPECT_TRUE(AreEqual(run(false), run(true)));
      }
      ExpectSame(run(false), run(true), type == at::kDouble ? 1e-12 : 1e-5);
    }
  }
}

TEST(SoftmaxAttentionTest, GenericFormIsTheDenseOne) {
  for (const SoftmaxCase& c : Cases()) {
    SCOPED_TRACE(c.name);
    const Inputs in = Make(c);
    ExpectSame(Fast(in, at::kDouble), Dense(in), 1e-12);
  }
}

TEST(SoftmaxAttentionTest, RegisterFormIsTheDenseOneOnEveryInstructionSet) {
  for (const SoftmaxCase& c : Cases()) {
    const Inputs in = Make(c);
    const SoftmaxOutcome expected = Dense(in);
    for (const KernelPath path : AvailableKernelPaths()) {
      SCOPED_TRACE(c.name + std::string(", ") + KernelPathName(path));
      ScopedKernelPath use(path);
      ExpectSame(Fast(in, at::kFloat), expected, c.stretch > 1 || c.has_slopes ? 3e-5 : 3e-6);
    }
  }
}

// Rounded factors move a score by a share of it, so only scores of ordinary size stay near.
void ExpectBfloat16NearTheDenseForm() {
  const ProductTypeScope bfloat16(true);
  for (const SoftmaxCase& c : Cases()) {
    if (c.stretch > 1 || c.queries < 8) continue;  // few queries take the generic form
    SCOPED_TRACE(c.name);
    Inputs in = Make(c);
    for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.upstream})
      *t = t->to(at::kBFloat16).to(t->scalar_type());
    const SoftmaxOutcome rounded = Fast(in, at::kFloat);
    ExpectSame(rounded, Dense(in), 3.0 / 256);
    const ProductTypeScope float32(false);
    EXPECT_FALSE(at::equal(rounded.output, Fast(in, at::kFloat).output)) << "nothing was rounded";
  }
}

TEST(SoftmaxAttentionTest, Bfloat16ProductsStayNearTheDenseForm) {
  ForBfloat16Paths(ExpectBfloat16NearTheDenseForm);
}

TEST(SoftmaxAttentionTest, ReferenceFollowsScoresThatRise) {
  // The scores are 0, 100, .. 2500 from tile to tile, so every tile exceeds what the one before
  // prepared for.
  Inputs in = Make({"", 1, 1, 50, 64 * 26, 4, 4});
  in.q = at::ones_like(in.q);
  in.k = (at::arange(64 * 26, at::kDouble) / 64).floor().view({1, 1, -1, 1}).expand_as(in.k) * 50;
  for (int i = 0; i < 2; ++i, in.k = -in.k - 1e4) {
    const SoftmaxOutcome outcome = Fast(in, at::kFloat), expected = Dense(in);
    ExpectNear(outcome.output, expected.output, 1e-5, "output");
    ExpectNear(outcome.dv, expected.dv, 1e-5, "dv");
  }
}

TEST(SoftmaxAttentionTest, BitsDoNotDependOnTheNumberOfThreads) {
  const int threads = at::get_num_threads();
  for (const SoftmaxCase& c : Cases()) {
    SCOPED_TRACE(c.name);
    const Inputs in = Make(c);
    at::set_num_threads(1);
    const SoftmaxOutcome one = Fast(in, at::kFloat);
    at::set_num_threads(2);
    EXPECT_TRUE(AreEqual(one, Fast(in, at::kFloat)));
  }
  at::set_num_threads(threads);
}

TEST(SoftmaxAttentionTest, NotANumberInMaskedKeysAndValuesHasNoEffect) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const SoftmaxCase& c : Cases()) {
      SCOPED_TRACE(c.name);
      Inputs in = Make(c);
      if (!in.keep.defined()) continue;
      const SoftmaxOutcome clean = Fast(in, type);
      const at::Tensor masked = in.keep.logical_not().view({c.batch, 1, c.keys, 1});
      in.k = in.k.masked_fill(masked, kNaN);
      in.v = in.v.masked_fill(masked, kNaN);
      const SoftmaxOutcome outcome = Fast(in, type);
      ExpectSame(outcome, clean, type == at::kFloat ? 0 : 1e-13);
      EXPECT_EQ((outcome.dk * masked).abs().max().item<double>(), 0);
      EXPECT_EQ((outcome.dv * masked).abs().max().item<double>(), 0);
    }
  }
}

TEST(SoftmaxAttentionTest, RowsWithoutKeysAreZeroWithZeroGradient) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    // Queries 0 .. 89 come before the first key.
    const SoftmaxOutcome outcome = Fast(Make({"", 1, 2, 150, 60, 8, 8, true}), type);
    EXPECT_EQ(outcome.output.narrow(2, 0, 90).abs().max().item<double>(), 0);
    EXPECT_EQ(outcome.dq.narrow(2, 0, 90).abs().max().item<double>(), 0);
    EXPECT_GT(outcome.output.narrow(2, 90, 1).abs().max().item<double>(), 0);
  }
}

TEST(SoftmaxAttentionTest, PaddingWithMaskedKeysChangesNoBit) {
  Inputs in = Make({"", 1, 2, 60, 200, 8, 8});
  in.keep = (at::arange(200) < 77).unsqueeze(0);
  Inputs cut = in;
  cut.k = in.k.narrow(2, 0, 77);
  cut.v = in.v.narrow(2, 0, 77);
  cut.keep = at::Tensor();
  EXPECT_TRUE(at::equal(Fast(in, at::kFloat).output, Fast(cut, at::kFloat).output));
}

TEST(SoftmaxAttentionTest, DropoutBlocksAreThoseOfTheWholeMask) {
  const DropoutKey key = {0.3, 1, 2, 3, at::tensor(std::vector<int64_t>{9, 4}, at::kLong)};
  const at::Tensor whole = WeightDropoutMask(key, 3, 70, 90);
  const at::Tensor block = WeightDropoutBlock(key, 3, 13, 20, 40, 37);
  EXPECT_TRUE(at::equal(block, whole.narrow(2, 13, 20).narrow(3, 40, 37)));
}

long PeakKilobytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(SoftmaxAttentionTest, MemoryIsLinearInTokens) {
  const int64_t n = 4096;  // one matrix of weights would be 128 MB
  at::Tensor q = at::randn({1, n, 2, 4}).transpose(1, 2).set_requires_grad(true);
  const at::Tensor keep = (at::arange(n) < 3000).unsqueeze(0);
  const DropoutKey dropout = {0.1, 1, 2, 3, at::tensor(std::vector<int64_t>{0}, at::kLong)};
  const long before = PeakKilobytes();
  SoftmaxAttention(q, q, q, at::Tensor(), {}).sum().backward();
  SoftmaxAttention(q, q, q, keep, dropout, true).sum().backward();
  const at::Tensor wide = q.detach().narrow(1, 0, 1).to(at::kDouble).set_requires_grad(true);
  SoftmaxAttention(wide, wide, wide, at::Tensor(), {}).sum().backward();
  EXPECT_LT(PeakKilobytes() - before, 120000);
}

TEST(SoftmaxAttentionTest, WeightDropoutKeepsTheMean) {
  const at::Tensor q = at::randn({1, 1, 400, 8}), v = at::ones({1, 1, 400, 8});
  const DropoutKey key = {0.5, 1, 2, 3, at::tensor(std::vector<int64_t>{0}, at::kLong)};
  const at::Tensor out = SoftmaxAttention(q, q, v, at::Tensor(), key);
  EXPECT_NEAR(out.mean().item<double>(), 1.0, 0.02);
  EXPECT_GT(out.std().item<double>(), 0.01);
}

}  // namespace
}  // namespace lra
