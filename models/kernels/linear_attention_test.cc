#include "models/kernels/linear_attention.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <vector>

#include "models/base/bfloat16_paths_test_util.h"
#include "models/base/kernel_path.h"
#include "models/base/product_type.h"
#include "models/kernels/unwritten_test_util.h"

namespace lra {
namespace {

using internal::LinearAttentionGradients;
using internal::LinearAttentionState;

at::Tensor Angles(int64_t n, double scale) {
  return at::arange(n, at::kDouble) * (std::numbers::pi / 2 / scale);
}

std::vector<LinearAttentionSpec> AllSpecs(int64_t n, int64_t batch) {
  std::vector<LinearAttentionSpec> specs;
  for (const FeatureMap map : {FeatureMap::kEluPlusOne, FeatureMap::kRelu}) {
    for (const Denominator denominator : {Denominator::kPlus, Denominator::kClamp}) {
      LinearAttentionSpec spec;
      spec.feature_map = map;
      spec.denominator = denominator;
      specs.push_back(spec);
      spec.query_angles = spec.key_angles = Angles(n, 700);
      specs.push_back(spec);
      spec.query_angles = spec.key_angles =
          at::stack({Angles(n, 700), Angles(n, 800)}).narrow(0, 0, batch);
      specs.push_back(spec);
      // One row for all examples, as their own lengths give it where none is padded.
      spec.query_angles = spec.key_angles = Angles(n, 700).unsqueeze(0);
      specs.push_back(spec);
    }
  }
  // Signed features: a large epsilon keeps the row sums away from zero.
  for (const FeatureMap map : {FeatureMap::kLeakyRelu, FeatureMap::kIdentity}) {
    LinearAttentionSpec spec;
    spec.feature_map = map;
    spec.denominator = Denominator::kClamp;
    spec.epsilon = 300;
    spec.leaky_slope = 0.2;
    specs.push_back(spec);
    // A quarter to a half of the rows is floored.
    spec.denominator = Denominator::kSignedFloor;
    spec.epsilon = 1e-6;
    spec.floor_ratio = map == FeatureMap::kIdentity ? 0.1 : 0.8;
    specs.push_back(spec);
    spec.query_angles = spec.key_angles = Angles(n, 700);
    specs.push_back(spec);
  }
  // Some rows of the first example are floored, all of the second.
  LinearAttentionSpec floored;
  floored.feature_map = FeatureMap::kRelu;
  floored.denominator = Denominator::kClamp;
  floored.floors = at::tensor(std::vector<double>{3.0 * double(n), 1e5}).narrow(0, 0, batch);
  specs.push_back(floored);
  LinearAttentionSpec unit;
  unit.feature_map = FeatureMap::kUnit;
  unit.denominator = Denominator::kNone;
  specs.push_back(unit);
  unit.norm_epsilon = 0;
  unit.query_angles = unit.key_angles = Angles(n, 700);
  specs.push_back(unit);
  return specs;
}

double Relative(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

struct LinearTensors {
  at::Tensor q, k, v, keep, upstream;

  explicit LinearTensors(int64_t n)
      : q(at::randn({2, 3, n, 20})),
        k(at::randn({2, 3, n, 20})),
        // Laid out like the encoder's: [B, N, H, D] seen as [B, H, N, D].
        v(at::randn({2, n, 3, 18}).transpose(1, 2)),
        keep(at::ones({2, n}, at::kBool)),
        upstream(at::randn({2, 3, n, 18})) {
    keep[1].slice(0, 301).fill_(false);
  }
};

void ExpectTiledIsNearGeneric(const LinearTensors& t, const LinearAttentionSpec& spec,
                              double of_output, double of_gradients) {
  const at::Tensor q = t.q.to(at::kDouble), k = t.k.to(at::kDouble), v = t.v.to(at::kDouble);
  const LinearAttentionState tiled = internal::ForwardTiled(t.q, t.k, t.v, t.keep, spec);
  const LinearAttentionState generic = internal::ForwardGeneric(q, k, v, t.keep, spec);
  EXPECT_LT(Relative(tiled.output, generic.output), of_output);
  const LinearAttentionGradients a =
      internal::BackwardTiled(t.upstream, t.q, t.k, t.v, t.keep, spec, tiled);
  const LinearAttentionGradients b =
      internal::BackwardGeneric(t.upstream.to(at::kDouble), q, k, v, t.keep, spec, generic);
  EXPECT_LT(Relative(a.q, b.q), of_gradients);
  EXPECT_LT(Relative(a.k, b.k), of_gradients);
  EXPECT_LT(Relative(a.v, b.v), of_gradients);
}

constexpr int64_t kThreeTiles = 523;  // the last one odd

TEST(LinearAttentionTest, TiledEqualsGenericOnEveryInstructionSet) {
  const LinearTensors t(kThreeTiles);
  for (const KernelPath path : AvailableKernelPaths()) {
    SCOPED_TRACE(KernelPathName(path));
    ScopedKernelPath use(path);
    for (const LinearAttentionSpec& spec : AllSpecs(kThreeTiles, 2))
      ExpectTiledIsNearGeneric(t, spec, 2e-5, 5e-5);
  }
}

void ExpectBfloat16NearGeneric() {
  const LinearTensors t(kThreeTiles);
  const ProductTypeScope bfloat16(true);
  for (const LinearAttentionSpec& spec : AllSpecs(kThreeTiles, 2)) {
    // Where a row sum is bounded, rounding takes rows over the bound, and their gradient jumps.
    const bool jumps =
        spec.denominator != Denominator::kPlus && spec.denominator != Denominator::kNone;
    ExpectTiledIsNearGeneric(t, spec, 3.0 / 256, jumps ? 0.5 : 4.0 / 256);
  }
}

TEST(LinearAttentionTest, Bfloat16ProductsStayNearGeneric) {
  ForBfloat16Paths(ExpectBfloat16NearGeneric);
}

LinearAttentionGradients TiledGradients(const LinearTensors& t, const LinearAttentionSpec& spec,
                                        const at::Tensor& upstream) {
  const UnwrittenIsNaN unwritten;
  const LinearAttentionState state = internal::ForwardTiled(t.q, t.k, t.v, t.keep, spec);
  return internal::BackwardTiled(upstream, t.q, t.k, t.v, t.keep, spec, state);
}

// A query's gradient does not depend on those of others: the same bits, and zeros where nothing was
// asked. Half of the upstream's zeros are -0, products of a number and 0.
void ExpectOnlyAskedQueriesCount(const LinearTensors& t, const LinearAttentionSpec& spec,
                                 const at::Tensor& is_asked) {
  const at::Tensor some = t.upstream * is_asked;
  const at::Tensor q = t.q.to(at::kDouble), k = t.k.to(at::kDouble), v = t.v.to(at::kDouble);
  const LinearAttentionGradients expected = internal::BackwardGeneric(
      some.to(at::kDouble), q, k, v, t.keep, spec, internal::ForwardGeneric(q, k, v, t.keep, spec));
  for (const KernelPath path : AvailableKernelPaths()) {
    SCOPED_TRACE(KernelPathName(path));
    const ScopedKernelPath use(path);
    const LinearAttentionGradients got = TiledGradients(t, spec, some);
    EXPECT_TRUE(at::equal(got.q, TiledGradients(t, spec, t.upstream).q * is_asked));
    for (const auto part : {&LinearAttentionGradients::k, &LinearAttentionGradients::v}) {
      const double largest = (expected.*part).abs().max().item<double>();
      EXPECT_LE((got.*part - expected.*part).abs().max().item<double>(), 2e-4 * largest);
    }
  }
}

TEST(LinearAttentionTest, QueriesWithoutGradientAreLeftOut) {
  const LinearTensors t(kThreeTiles);
  const at::Tensor place = at::arange(kThreeTiles).view({-1, 1});
  const at::Tensor asked[] = {place.eq(0),
                              place.eq(kThreeTiles - 1),
                              place < 300,
                              (place >= 256).logical_and(place < 512),
                              at::rand({kThreeTiles, 1}) < 0.02,
                              place < 0};
  for (const LinearAttentionSpec& spec : AllSpecs(kThreeTiles, 2)) {
    for (size_t i = 0; i < std::size(asked); ++i) {
      SCOPED_TRACE(testing::Message()
                   << "map " << static_cast<int>(spec.feature_map) << ", denominator "
                   << static_cast<int>(spec.denominator) << ", asked " << i);
      ExpectOnlyAskedQueriesCount(t, spec, asked[i]);
    }
  }
}

// Their tiles change no bit: the gradients of k and v are those of the other queries alone.
TEST(LinearAttentionTest, TilesWithoutGradientAddNothing) {
  const LinearTensors t(kThreeTiles);
  LinearTensors cut = t;
  cut.q = t.q.narrow(2, 256, 256);
  cut.upstream = t.upstream.narrow(2, 256, 256);
  const at::Tensor place = at::arange(kThreeTiles).view({-1, 1});
  const at::Tensor some = t.upstream * (place >= 256).logical_and(place < 512);
  for (const bool is_bfloat16 : {false, true}) {
    const ProductTypeScope products(is_bfloat16);
    for (const LinearAttentionSpec& spec : AllSpecs(kThreeTiles, 2)) {
      LinearAttentionSpec of_cut = spec;
      if (spec.query_angles.defined()) of_cut.query_angles = spec.query_angles.narrow(-1, 256, 256);
      const LinearAttentionGradients got = TiledGradients(t, spec, some);
      const LinearAttentionGradients expected = TiledGradients(cut, of_cut, cut.upstream);
      EXPECT_TRUE(at::equal(got.q.narrow(2, 256, 256), expected.q));
      EXPECT_TRUE(at::equal(got.k, expected.k));
      EXPECT_TRUE(at::equal(got.v, expected.v));
    }
  }
}

// A query that is not a number is not seen where nothing of its tile is asked.
TEST(LinearAttentionTest, NotANumberIsNotSeenWhereNothingIsAsked) {
  const LinearTensors t(kThreeTiles);
  LinearTensors dirty = t;
  dirty.q = t.q.clone();
  dirty.q.narrow(2, 300, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  const at::Tensor some = t.upstream * at::arange(kThreeTiles).view({-1, 1}).eq(0);
  for (const LinearAttentionSpec& spec : AllSpecs(kThreeTiles, 2)) {
    const LinearAttentionGradients clean = TiledGradients(t, spec, some);
    const LinearAttentionGradients got = TiledGradients(dirty, spec, some);
    EXPECT_TRUE(at::equal(got.q, clean.q));
    EXPECT_TRUE(at::equal(got.k, clean.k));
    EXPECT_TRUE(at::equal(got.v, clean.v));
  }
}

TEST(LinearAttentionTest, TiledDoesNotDependOnThreads) {
  const at::Tensor q = at::randn({3, 2, 300, 16}), k = at::randn({3, 2, 300, 16}),
                   v = at::randn({3, 2, 300, 16});
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = internal::ForwardTiled(q, k, v, at::Tensor(), {}).output;
  at::set_num_threads(2);
  EXPECT_TRUE(at::equal(internal::ForwardTiled(q, k, v, at::Tensor(), {}).output, one));
  at::set_num_threads(threads);
}

// Two further published points of the family, with golden values of an independent implementation
// (the inputs are those of models/conformance/golden_test_util.h).
TEST(LinearAttentionTest, ReluFeaturesWithoutReweighting) {
  at::Tensor q = at::empty({1, 2, 6, 4}, at::kDouble), k = at::empty_like(q),
             v = at::empty({1, 2, 6, 3}, at::kDouble);
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 6; ++i) {
      for (int c = 0; c < 4; ++c) {
        q[0][h][i][c] = std::sin(1 + 0.9 * i + 1.7 * c + 0.6 * h);
        k[0][h][i][c] = std::cos(0.5 + 1.1 * i - 0.8 * c + 0.4 * h);
        if (c < 3) v[0][h][i][c] = std::sin(0.3 + 0.7 * i + 1.9 * c - 0.5 * h);
      }
    }
  }
  LinearAttentionSpec spec;
  spec.feature_map = FeatureMap::kRelu;
  spec.denominator = Denominator::kClamp;
  const at::Tensor out = LinearAttention(q, k, v, at::Tensor(), spec);
  EXPECT_NEAR(out[0][0][0][0].item<double>(), -0.00800865, 1e-8);
  EXPECT_NEAR(out[0][0][5][2].item<double>(), -0.62789963, 1e-8);
  EXPECT_NEAR(out.sum().item<double>(), 0.7971856217, 1e-9);
}

TEST(LinearAttentionTest, NotANumberInRealPositionsIsNotHidden) {
  at::Tensor q = at::randn({1, 1, 5, 4}), k = at::randn({1, 1, 5, 4}), v = at::randn({1, 1, 5, 4});
  for (const LinearAttentionSpec& spec : AllSpecs(5, 1)) {
    for (at::Tensor* side : {&q, &k, &v}) {
      const at::Tensor kept = side->clone();
      (*side)[0][0][2][1] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(LinearAttention(q, k, v, at::Tensor(), spec).isnan().any().item<bool>());
      *side = kept;
    }
  }
}

TEST(LinearAttentionTest, EpsilonZeroDividesNothingByNothing) {
  const at::Tensor q = at::randn({1, 1, 3, 4}), keep = at::zeros({1, 3}, at::kBool);
  for (LinearAttentionSpec spec : AllSpecs(3, 1)) {
    spec.epsilon = 0;
    EXPECT_TRUE(at::equal(LinearAttention(q, q, q, keep, spec), at::zeros_like(q)));
    EXPECT_TRUE(at::equal(internal::ForwardGeneric(q, q, q, keep, spec).output, at::zeros_like(q)));
  }
}

}  // namespace
}  // namespace lra
