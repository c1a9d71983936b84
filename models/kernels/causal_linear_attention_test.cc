// The forms of linear attention for devices, and the causal one chunk by chunk, against the
// definition, written with N x N weights and differentiated by LibTorch: float64 on the CPU, and
// float32 in tiles.
#include "models/kernels/causal_linear_attention.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "models/base/fake_device.h"
#include "models/base/kernel_path.h"

namespace lra {
namespace {

using internal::CausalGradients;
using internal::CausalState;
using internal::LinearAttentionGradients;
using internal::LinearAttentionState;

at::Tensor Phi(const at::Tensor& x, const LinearAttentionSpec& spec) {
  switch (spec.feature_map) {
    case FeatureMap::kEluPlusOne:
      return at::elu(x) + 1;
    case FeatureMap::kRelu:
      return x.relu();
    case FeatureMap::kLeakyRelu:
      return at::leaky_relu(x, spec.leaky_slope);
    case FeatureMap::kIdentity:
      return x;
    case FeatureMap::kUnit:
      return x / (x.square().sum(-1, true) + spec.norm_epsilon).sqrt();
  }
  return x;
}

// What multiplies phi(q_i) . phi(k_j), [B or 1, H or 1, N, Nk], but for the cosine.
at::Tensor Factors(const at::Tensor& q, const at::Tensor& k, const at::Tensor& keep,
                   const LinearAttentionSpec& spec) {
  at::Tensor factors = at::ones({1, 1, q.size(2), k.size(2)}, q.options());
  if (spec.causal) factors = factors.tril(k.size(2) - q.size(2));
  if (keep.defined()) factors = factors * keep.to(q.options()).view({keep.size(0), 1, 1, -1});
  if (spec.log_decay.defined()) {
    const at::Tensor sums = spec.log_decay.cumsum(-1);
    factors = factors * (sums.unsqueeze(-1) - sums.unsqueeze(-2)).tril().exp();
  }
  return factors;
}

at::Tensor AngleRows(const at::Tensor& angles) {  // [B or 1, 1, N]
  return angles.view({-1, 1, angles.size(-1)});
}

// |sum_j factor_ij phi(k_j)|, with angles of the rotated features: [B, H, N, 1].
at::Tensor KeySumNorms(const at::Tensor& keys, const at::Tensor& factors,
                       const LinearAttentionSpec& spec) {
  if (!spec.key_angles.defined()) return at::matmul(factors, keys).norm(2, -1, true);
  const at::Tensor angles = AngleRows(spec.key_angles).unsqueeze(-1);
  return at::matmul(factors, at::cat({keys * angles.cos(), keys * angles.sin()}, -1))
      .norm(2, -1, true);
}

at::Tensor Definition(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const at::Tensor& keep, const LinearAttentionSpec& spec) {
  const at::Tensor queries = Phi(q, spec), keys = Phi(k, spec), factors = Factors(q, k, keep, spec);
  at::Tensor weights = at::matmul(queries, keys.transpose(-1, -2)) * factors;
  if (spec.query_angles.defined()) {
    weights = weights * at::cos(AngleRows(spec.query_angles).unsqueeze(-1) -
                                AngleRows(spec.key_angles).unsqueeze(-2));
  }
  const at::Tensor sum = weights.sum(-1, true), output = at::matmul(weights, v);
  switch (spec.denominator) {
    case Denominator::kPlus:
      return output / (sum + spec.epsilon);
    case Denominator::kClamp:
      if (!spec.floors.defined()) return output / sum.clamp_min(spec.epsilon);
      return output / at::maximum(sum, spec.floors.view({-1, 1, 1, 1}));
    case Denominator::kSignedFloor: {
      const at::Tensor floors =
          (queries.norm(2, -1, true) * KeySumNorms(keys, factors, spec) * spec.floor_ratio)
              .clamp_min(spec.epsilon)
              .detach();
      return output / at::where(sum.abs() >= floors, sum, at::where(sum < 0, -floors, floors));
    }
    case Denominator::kNone:
      return output;
  }
  return output;
}

constexpr int64_t kBatch = 2, kHeads = 3;

at::Tensor Normal(int64_t tokens, int64_t width) {
  return at::randn({kBatch, tokens, kHeads, width}, at::kDouble).transpose(1, 2);
}

struct Inputs {
  at::Tensor q, k, v, keep, upstream;

  Inputs(int64_t queries, int64_t keys, bool is_masked)
      : q(Normal(queries, 5)),
        k(Normal(keys, 5)),
        v(Normal(keys, 4)),
        upstream(Normal(queries, 4)) {
    if (!is_masked) return;
    keep = at::rand({kBatch, keys}) > 0.3;  // with holes
    keep[1].slice(0, keys / 2).fill_(false);
    keep.select(1, 0).fill_(true);
  }
};

struct Results {
  at::Tensor output, q, k, v, log_decay;
};

Results ByDefinition(const Inputs& in, LinearAttentionSpec spec) {
  const auto leaf = [](const at::Tensor& t) { return t.detach().clone().requires_grad_(); };
  std::vector<at::Tensor> leaves = {leaf(in.q), leaf(in.k), leaf(in.v)};
  if (spec.log_decay.defined()) {
    leaves.push_back(leaf(spec.log_decay));
    spec.log_decay = leaves[3];
  }
  const at::Tensor output = Definition(leaves[0], leaves[1], leaves[2], in.keep, spec);
  std::vector<at::Tensor> gradients = torch::autograd::grad({output}, leaves, {in.upstream});
  gradients.resize(4);
  return {output.detach(), gradients[0], gradients[1], gradients[2], gradients[3]};
}

Results ByChunk(const Inputs& in, const LinearAttentionSpec& spec) {
  const CausalState state = internal::CausalForwardByChunk(in.q, in.k, in.v, in.keep, spec);
  const CausalGradients g =
      internal::CausalBackwardByChunk(in.upstream, in.q, in.k, in.v, in.keep, spec, state);
  return {state.output, g.q, g.k, g.v, g.log_decay};
}

Results AtOnce(const Inputs& in, const LinearAttentionSpec& spec) {
  const CausalState state = internal::CausalForwardAtOnce(in.q, in.k, in.v, in.keep, spec);
  const CausalGradients g =
      internal::CausalBackwardAtOnce(in.upstream, in.q, in.k, in.v, in.keep, spec, state);
  return {state.output, g.q, g.k, g.v, g.log_decay};
}

Inputs InFloat32(Inputs in) {
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.upstream}) *t = t->to(at::kFloat);
  return in;
}

// In float32, whatever path is forced on this process.
Results Tiled(const Inputs& wide, const LinearAttentionSpec& spec) {
  const ScopedKernelPath best(AvailableKernelPaths().back());
  const Inputs in = InFloat32(wide);
  LinearAttentionSpec single = spec;
  if (spec.log_decay.defined()) single.log_decay = spec.log_decay.to(at::kFloat);
  EXPECT_TRUE(internal::TakesCausalTiles(in.q, in.k, in.v, single));
  const CausalState state = internal::CausalForwardTiled(in.q, in.k, in.v, in.keep, single);
  const CausalGradients g =
      internal::CausalBackwardTiled(in.upstream, in.q, in.k, in.v, in.keep, single, state);
  return {state.output, g.q, g.k, g.v, g.log_decay};
}

Results Bidirectional(const Inputs& in, const LinearAttentionSpec& spec) {
  const LinearAttentionState state = internal::ForwardGeneric(in.q, in.k, in.v, in.keep, spec);
  const LinearAttentionGradients g =
      internal::BackwardGeneric(in.upstream, in.q, in.k, in.v, in.keep, spec, state);
  return {state.output, g.q, g.k, g.v, {}};
}

void ExpectNear(const at::Tensor& got, const at::Tensor& expected, double of) {
  ASSERT_EQ(got.sizes(), expected.sizes());
  const double largest = expected.abs().max().item<double>();
  EXPECT_LT((got - expected).abs().max().item<double>(), of * std::max(1.0, largest));
}

void ExpectSame(const Results& got, const Results& expected, double of = 1e-11) {
  for (const auto part : {&Results::output, &Results::q, &Results::k, &Results::v})
    ExpectNear(got.*part, expected.*part, of);
  if (expected.log_decay.defined()) ExpectNear(got.log_decay, expected.log_decay, of);
}

constexpr FeatureMap kMaps[] = {FeatureMap::kEluPlusOne, FeatureMap::kRelu, FeatureMap::kLeakyRelu,
                                FeatureMap::kIdentity, FeatureMap::kUnit};
constexpr Denominator kDenominators[] = {Denominator::kPlus, Denominator::kClamp,
                                         Denominator::kSignedFloor, Denominator::kNone};

// Every feature map with every denominator; signed sums are kept away from zero.
std::vector<LinearAttentionSpec> MapsAndDenominators() {
  std::vector<LinearAttentionSpec> specs;
  for (const FeatureMap map : kMaps) {
    for (const Denominator denominator : kDenominators) {
      LinearAttentionSpec spec;
      spec.feature_map = map;
      spec.denominator = denominator;
      spec.leaky_slope = 0.2;
      spec.floor_ratio = 0.3;
      spec.epsilon = denominator == Denominator::kPlus ? 300 : 3;
      specs.push_back(spec);
    }
  }
  return specs;
}

at::Tensor Angles(int64_t n, bool is_by_example) {
  const at::Tensor angles = at::arange(n, at::kDouble) * 0.004;
  return is_by_example ? at::stack({angles, angles * 1.3}) : angles;
}

// run(spec, inputs, what) for N tokens, with and without angles, decays and masks.
template <class Run>
void ForCausalCases(int64_t n, Run run) {
  for (LinearAttentionSpec spec : MapsAndDenominators()) {
    spec.causal = true;
    for (const int bits : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const bool is_rotated = bits & 1, decays = bits & 2, is_masked = bits & 4;
      spec.query_angles = spec.key_angles = is_rotated ? Angles(n, is_masked) : at::Tensor();
      spec.log_decay =
          decays ? -at::rand({is_masked ? kBatch : 1, kHeads, n}, at::kDouble) : at::Tensor();
      SCOPED_TRACE(testing::Message()
                   << "N " << n << ", map " << static_cast<int>(spec.feature_map)
                   << ", denominator " << static_cast<int>(spec.denominator) << ", angles "
                   << is_rotated << ", decays " << decays << ", mask " << is_masked);
      run(spec, Inputs(n, n, is_masked));
    }
  }
}

TEST(CausalLinearAttentionTest, BothFormsAreTheDefinition) {
  for (const int64_t n : {1, 128, 259}) {
    ForCausalCases(n, [](const LinearAttentionSpec& spec, const Inputs& in) {
      const Results expected = ByDefinition(in, spec);
      ExpectSame(AtOnce(in, spec), expected);
      ExpectSame(ByChunk(in, spec), expected);
    });
  }
}

TEST(CausalLinearAttentionTest, TilesAreTheDefinition) {
  for (const int64_t n : {1, 64, 65, 200}) {
    ForCausalCases(n, [](const LinearAttentionSpec& spec, const Inputs& in) {
      if (spec.denominator == Denominator::kSignedFloor) return;
      ExpectSame(Tiled(in, spec), ByDefinition(in, spec), 2e-5);
    });
  }
}

TEST(CausalLinearAttentionTest, TilesTakeWideHeads) {
  LinearAttentionSpec spec;
  spec.causal = true;
  Inputs in(150, 150, true);
  for (at::Tensor* t : {&in.q, &in.k}) *t = Normal(150, 100);
  for (at::Tensor* t : {&in.v, &in.upstream}) *t = Normal(150, 70);
  ExpectSame(Tiled(in, spec), ByDefinition(in, spec), 2e-5);
}

// What is asked for: LinearAttention() in float32, through autograd.
Results ThroughAutograd(const Inputs& wide, const LinearAttentionSpec& spec) {
  const ScopedKernelPath best(AvailableKernelPaths().back());
  Inputs in = InFloat32(wide);
  for (at::Tensor* t : {&in.q, &in.k, &in.v}) *t = t->detach().requires_grad_();
  const at::Tensor output = LinearAttention(in.q, in.k, in.v, in.keep, spec);
  const auto g = torch::autograd::grad({output}, {in.q, in.k, in.v}, {in.upstream});
  return {output.detach(), g[0], g[1], g[2], {}};
}

TEST(CausalLinearAttentionTest, TilesAlignTheEndsOfUnlikeLengths) {
  for (const auto& [n, keys] : std::vector<std::pair<int64_t, int64_t>>{{7, 130}, {130, 7}}) {
    LinearAttentionSpec spec;
    spec.causal = true;
    const Inputs in(n, keys, false);
    ExpectSame(ThroughAutograd(in, spec), ByDefinition(in, spec), 2e-5);
  }
}

// Gradients come in any layout: of a sum they are one number for all.
TEST(CausalLinearAttentionTest, TilesTakeGradientsInAnyLayout) {
  LinearAttentionSpec spec;
  spec.causal = true;
  Inputs in(150, 150, true);
  in.upstream = at::ones({1, 1, 1, 1}, at::kDouble).expand({kBatch, kHeads, 150, 4});
  ExpectSame(Tiled(in, spec), ByDefinition(in, spec), 2e-5);
  in.upstream = Normal(4, 150).transpose(2, 3);  // [B, H, 150, 4], the tokens dense
  in.q = at::rand({kBatch, kHeads, 5, 150}, at::kDouble).transpose(2, 3);
  ExpectSame(Tiled(in, spec), ByDefinition(in, spec), 2e-5);
}

TEST(CausalLinearAttentionTest, TilesDoNotDependOnThreads) {
  LinearAttentionSpec spec;
  spec.causal = true;
  const Inputs in(150, 150, true);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Results one = Tiled(in, spec);
  at::set_num_threads(3);
  const Results three = Tiled(in, spec);
  at::set_num_threads(threads);
  for (const auto part : {&Results::output, &Results::q, &Results::k, &Results::v})
    EXPECT_TRUE(at::equal(one.*part, three.*part));
}

// A head's own decay for all tokens, as ALiBi's, and gates that close.
TEST(CausalLinearAttentionTest, TilesTakeSlopesAndStrongDecays) {
  LinearAttentionSpec spec;
  spec.causal = true;
  const Inputs in(400, 400, true);
  spec.log_decay = (-at::arange(1, 1 + kHeads, at::kDouble) / 64).view({1, -1, 1});
  spec.log_decay = spec.log_decay.expand({1, kHeads, 400});
  ExpectSame(Tiled(in, spec), ByDefinition(in, spec), 2e-5);
  spec.log_decay = at::zeros({1, kHeads, 400}, at::kDouble);
  spec.log_decay.slice(2, 100, 300).fill_(-1000);
  ExpectSame(Tiled(in, spec), ByDefinition(in, spec), 2e-5);
}

TEST(CausalLinearAttentionTest, TilesTakeFloat32ThatOnlyForgets) {
  const ScopedKernelPath best(AvailableKernelPaths().back());
  const Inputs in(70, 70, false);
  const at::Tensor q = in.q.to(at::kFloat);
  LinearAttentionSpec plain, decaying, growing, floored, scaled, told;
  decaying.log_decay = at::zeros({1, kHeads, 70}, at::kFloat);
  growing.log_decay = at::ones({1, kHeads, 70}, at::kFloat);
  floored.denominator = Denominator::kSignedFloor;
  scaled.state_scale = at::ones({kBatch, kHeads, 1, 5}, at::kFloat);
  told.chunk_starts = {0, 7};
  EXPECT_TRUE(internal::TakesCausalTiles(q, q, q, plain));
  EXPECT_TRUE(internal::TakesCausalTiles(q, q, q, decaying));
  EXPECT_FALSE(internal::TakesCausalTiles(in.q, in.k, in.v, plain));
  for (const LinearAttentionSpec& spec : {growing, floored, scaled, told})
    EXPECT_FALSE(internal::TakesCausalTiles(q, q, q, spec));
}

// What is computed for one token does not depend on later ones, to the bit.
TEST(CausalLinearAttentionTest, TilesDoNotLookAhead) {
  LinearAttentionSpec spec;
  spec.causal = true;
  Inputs in(200, 200, false);
  const at::Tensor before = Tiled(in, spec).output;
  in.k.slice(2, 150) += 1;
  in.v.slice(2, 150) += 1;
  const at::Tensor after = Tiled(in, spec).output;
  EXPECT_TRUE(at::equal(before.slice(2, 0, 150), after.slice(2, 0, 150)));
  EXPECT_FALSE(at::equal(before.slice(2, 150), after.slice(2, 150)));
}

TEST(CausalLinearAttentionTest, StatesAreScaledFromChunkToChunk) {
  const int64_t n = 500;
  for (const bool is_rotated : {false, true}) {
    LinearAttentionSpec spec;
    spec.causal = true;
    spec.feature_map = FeatureMap::kRelu;
    if (is_rotated) spec.query_angles = spec.key_angles = Angles(n, false);
    spec.state_scale = at::rand({kBatch, kHeads, 4, 5}, at::kDouble) + 0.5;
    const Inputs in(n, n, true);
    ExpectSame(AtOnce(in, spec), ByChunk(in, spec));
    // The same as queries times, and keys over, the product of the scales so far.
    at::Tensor product = spec.state_scale.clone();
    product.select(2, 0).fill_(1);
    product = product.cumprod(2).unsqueeze(3).expand({-1, -1, -1, kCausalChunkTokens, -1});
    product = product.flatten(2, 3).narrow(2, 0, n);
    LinearAttentionSpec plain = spec;
    plain.state_scale = at::Tensor();
    ExpectNear(AtOnce(in, spec).output,
               Definition(in.q * product, in.k / product, in.v, in.keep, plain), 1e-11);
    spec.log_decay = -at::rand({1, kHeads, n}, at::kDouble) / 50;
    ExpectSame(AtOnce(in, spec), ByChunk(in, spec));
  }
}

TEST(CausalLinearAttentionTest, ChunksBeginWhereTheyAreToldTo) {
  ForCausalCases(259, [](LinearAttentionSpec spec, const Inputs& in) {
    spec.chunk_starts = {0, 1, 2, 77, 128, 256};
    ExpectSame(ByChunk(in, spec), ByDefinition(in, spec));
  });
}

// 130 chunks are more than one triangular product takes.
TEST(CausalLinearAttentionTest, LongSequencesAreTheSame) {
  const int64_t n = 130 * kCausalChunkTokens - 5;
  for (const double decay : {0.0, 1e-3}) {
    LinearAttentionSpec spec;
    spec.causal = true;
    if (decay > 0) spec.log_decay = -decay * at::rand({1, kHeads, n}, at::kDouble);
    const Inputs in(n, n, true);
    ExpectSame(AtOnce(in, spec), ByChunk(in, spec), 1e-10);
  }
}

// A gate that closes forgets everything; no quotient of decays may overflow on the way.
TEST(CausalLinearAttentionTest, StrongDecaysStayFinite) {
  LinearAttentionSpec spec;
  spec.causal = true;
  spec.log_decay = at::zeros({1, kHeads, 400}, at::kDouble);
  spec.log_decay.slice(2, 100, 300).fill_(-1000);
  const Inputs in(400, 400, false);
  ExpectSame(AtOnce(in, spec), ByDefinition(in, spec));
  Inputs single = in;
  for (at::Tensor* t : {&single.q, &single.k, &single.v, &single.upstream}) *t = t->to(at::kFloat);
  spec.log_decay = spec.log_decay.to(at::kFloat);
  const Results results = AtOnce(single, spec);
  for (const auto part :
       {&Results::output, &Results::q, &Results::k, &Results::v, &Results::log_decay})
    EXPECT_TRUE((results.*part).isfinite().all().item<bool>());
}

TEST(CausalLinearAttentionTest, Float32StaysNearFloat64) {
  LinearAttentionSpec spec;
  spec.causal = true;
  const int64_t n = 3000;
  spec.log_decay = -at::rand({1, kHeads, n}, at::kDouble) / 10;
  const Inputs in(n, n, true);
  Inputs single = in;
  for (at::Tensor* t : {&single.q, &single.k, &single.v, &single.upstream}) *t = t->to(at::kFloat);
  const Results expected = AtOnce(in, spec);
  spec.log_decay = spec.log_decay.to(at::kFloat);
  const Results got = AtOnce(single, spec);
  EXPECT_EQ(got.log_decay.scalar_type(), at::kFloat);
  ExpectSame(got, expected, 2e-5);
}

TEST(LinearAttentionGenericTest, BidirectionalFormIsTheDefinition) {
  for (const auto& [n, keys] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {7, 130}, {128, 128}, {300, 1}, {300, 259}}) {
    for (LinearAttentionSpec spec : MapsAndDenominators()) {
      for (const int bits : {0, 1, 2, 3}) {
        const bool is_rotated = bits & 1, is_masked = bits & 2;
        spec.query_angles = is_rotated ? Angles(n, is_masked) : at::Tensor();
        spec.key_angles = is_rotated ? Angles(keys, is_masked) : at::Tensor();
        if (n == keys) spec.key_angles = spec.query_angles;
        SCOPED_TRACE(testing::Message() << "N " << n << ", Nk " << keys << ", map "
                                        << static_cast<int>(spec.feature_map) << ", denominator "
                                        << static_cast<int>(spec.denominator) << ", angles "
                                        << is_rotated << ", mask " << is_masked);
        const Inputs in(n, keys, is_masked);
        ExpectSame(Bidirectional(in, spec), ByDefinition(in, spec));
      }
    }
  }
}

TEST(LinearAttentionGenericTest, FloorsOfExamplesAndNoKeysAtAll) {
  LinearAttentionSpec spec;
  spec.feature_map = FeatureMap::kRelu;
  spec.denominator = Denominator::kClamp;
  spec.floors = at::arange(1, 1 + kBatch, at::kDouble) * 100;
  const Inputs in(200, 200, true);
  ExpectSame(Bidirectional(in, spec), ByDefinition(in, spec));
  for (const int64_t keys : {0, 3}) {
    Inputs none(5, keys, false);
    none.keep = at::zeros({kBatch, keys}, at::kBool);
    const Results results = Bidirectional(none, LinearAttentionSpec());
    for (const auto part : {&Results::output, &Results::q, &Results::k, &Results::v})
      EXPECT_TRUE(at::equal(results.*part, at::zeros_like(results.*part)));
  }
}

TEST(LinearAttentionGenericTest, NotANumberInMaskedTokensHasNoEffect) {
  for (LinearAttentionSpec spec : MapsAndDenominators()) {
    for (const bool is_causal : {false, true}) {
      spec.causal = is_causal;
      Inputs in(200, 200, true);
      in.keep.select(1, 17).fill_(false);
      const auto run = [&] { return is_causal ? AtOnce(in, spec) : Bidirectional(in, spec); };
      const bool has_tiles = is_causal && spec.denominator != Denominator::kSignedFloor;
      const Results clean = run(), clean_tiled = has_tiles ? Tiled(in, spec) : Results();
      in.k.select(2, 17).fill_(std::numeric_limits<double>::quiet_NaN());
      in.v.select(2, 17).fill_(std::numeric_limits<double>::quiet_NaN());
      ExpectSame(run(), clean, 1e-15);
      if (has_tiles) ExpectSame(Tiled(in, spec), clean_tiled, 1e-15);
    }
  }
}

FakeDeviceWork WorkOnDevice(int64_t n, bool decays) {
  const at::Device device = FakeDevice();
  Inputs in(n, n, true);
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.keep, &in.upstream}) *t = t->to(device);
  LinearAttentionSpec spec;
  spec.causal = true;
  if (decays) spec.log_decay = (-at::rand({1, kHeads, n}, at::kDouble)).to(device);
  TakeFakeDeviceWork();
  AtOnce(in, spec);
  return TakeFakeDeviceWork();
}

TEST(CausalLinearAttentionTest, OperatorsDoNotGrowWithTokens) {
  for (const bool decays : {false, true}) {
    const FakeDeviceWork work = WorkOnDevice(4096, decays);
    EXPECT_EQ(Total(work.operators), decays ? 137 : 77);
    EXPECT_EQ(Total(WorkOnDevice(1024, decays).operators), Total(work.operators));
    EXPECT_EQ(Total(work.uploads), 0);
    EXPECT_EQ(Total(work.host_reads), 0);
    EXPECT_EQ(work.operators.count("cumsum"), 0);  // deterministic mode refuses it on CUDA
  }
}

TEST(CausalLinearAttentionTest, ADeviceTakesAllChunksAtOnce) {
  const at::Device device = FakeDevice();
  const Inputs in(1000, 1000, false);
  LinearAttentionSpec spec;
  spec.causal = true;
  TakeFakeDeviceWork();
  const at::Tensor output =
      LinearAttention(in.q.to(device), in.k.to(device), in.v.to(device), at::Tensor(), spec);
  EXPECT_LT(Total(TakeFakeDeviceWork().operators), 30);
  ExpectNear(output.cpu(), ByChunk(in, spec).output, 1e-12);
}

}  // namespace
}  // namespace lra
