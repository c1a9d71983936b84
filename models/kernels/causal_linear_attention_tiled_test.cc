// The causal form in tiles against the definition, in float32 on the CPU.
#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "models/kernels/linear_attention_test_util.h"

namespace lra {
namespace {

using namespace linear_attention_test;  // NOLINT: the tests are about these

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

}  // namespace
}  // namespace lra
