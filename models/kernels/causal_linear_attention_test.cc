// The forms of linear attention for devices, and the causal one chunk by chunk, against the
// definition: float64 on the CPU.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "models/base/fake_device.h"
#include "models/kernels/linear_attention_test_util.h"

namespace lra {
namespace {

using namespace linear_attention_test;  // NOLINT: the tests are about these

TEST(CausalLinearAttentionTest, BothFormsAreTheDefinition) {
  for (const int64_t n : {1, 128, 259}) {
    ForCausalCases(n, [](const LinearAttentionSpec& spec, const Inputs& in) {
      const Results expected = ByDefinition(in, spec);
      ExpectSame(AtOnce(in, spec), expected);
      ExpectSame(ByChunk(in, spec), expected);
    });
  }
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

Results BidirectionalTiled(const Inputs& in, const LinearAttentionSpec& spec) {
  const ScopedKernelPath best(AvailableKernelPaths().back());
  const LinearAttentionState state = internal::ForwardTiled(in.q, in.k, in.v, in.keep, spec);
  const LinearAttentionGradients g =
      internal::BackwardTiled(in.upstream, in.q, in.k, in.v, in.keep, spec, state);
  return {state.output, g.q, g.k, g.v, {}};
}

// Row sums go from 1 through subnormal numbers, whose inverses are infinite, to 0, as those of
// padded queries behind a decay do; only the first rows are read.
TEST(CausalLinearAttentionTest, RowSumsThatUnderflowCountAsNone) {
  constexpr int64_t kTokens = 300;
  LinearAttentionSpec spec;
  spec.causal = true;
  spec.feature_map = FeatureMap::kRelu;
  spec.epsilon = 0;
  Inputs in(kTokens, kTokens, false);
  in.q = in.q.abs() * at::exp(at::arange(kTokens, at::kDouble) * -0.5).view({1, 1, -1, 1});
  in.k = in.k.abs();
  in.upstream.slice(2, 90).zero_();
  in = InFloat32(in);
  for (const Results& results : {AtOnce(in, spec), ByChunk(in, spec), Tiled(in, spec),
                                 Bidirectional(in, spec), BidirectionalTiled(in, spec)}) {
    for (const auto part : {&Results::output, &Results::q, &Results::k, &Results::v})
      EXPECT_TRUE((results.*part).isfinite().all().item<bool>());
    EXPECT_EQ(results.output.slice(2, 280).abs().max().item<double>(), 0);
    EXPECT_GT(results.output.slice(2, 0, 90).abs().amax({0, 1, 3}).min().item<double>(), 0);
  }
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
