// The gated attention unit by hand: two tokens of two channels, every map the identity.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "lra/config.h"
#include "models/block/gated_attention.pb.h"
#include "models/interface/block.h"

namespace lra {
namespace {

class GatedAttentionTest : public testing::Test {
 protected:
  GatedAttentionTest() {
    GatedAttentionOptions options;
    options.set_expansion_factor(1);
    options.set_key_width(2);
    context_.options.PackFrom(options);
    context_.model.set_width(2);
    context_.model.set_norm_epsilon(1e-12f);
    context_.attention.set_name(kNoAttention);
    context_.parameters = &parameters_;
  }

  // Scales 1, biases 0, l = m = (bias, 0).
  std::unique_ptr<Block> Make(double bias) {
    std::unique_ptr<Block> block =
        BlockRegistry::Get().Create("block", "gated_attention", context_).value();
    for (const Parameter& p : parameters_.parameters()) {
      const at::Tensor value = p.value.detach();
      if (value.dim() == 2) value.copy_(at::eye(2));
      if (p.name.ends_with(".scale")) value.fill_(1);
      if (p.name.starts_with("bias.")) value.copy_(at::tensor({bias, 0.0}));
    }
    return block;
  }

  static void ExpectRows(const at::Tensor& y, std::vector<double> expected) {
    const at::Tensor rows = at::tensor(expected).view({1, 2, 2}).to(at::kFloat);
    EXPECT_TRUE(at::allclose(y, rows, 0, 2e-6)) << y;
  }

  ParameterStore parameters_{1};
  BlockContext context_;
  // Normalised: (-1, 1) and (1, -1); their SiLU: (-.2689414, .7310586) and the reverse.
  const at::Tensor x_ = at::tensor({0.0f, 2.0f, 4.0f, 0.0f}).view({1, 2, 2});
};

// Products .6067761 with itself, -.3932239 with the other, over n = 2; the ReLU leaves a_ii alone,
// .3033881^2 = .0920443; u v = the squares .0723295 and .5344466.
TEST_F(GatedAttentionTest, WithoutBias) {
  ExpectRows(Make(0)->Forward({x_}), {0.0066575, 2.0491928, 4.0491928, 0.0066575});
}

// r(0) = 1, r(1) = r(-1) = cos 1 = .5403023: a_ii = 1.3033881^2 = 1.6988205, a_ij = .3436904^2 =
// .1181231.
TEST_F(GatedAttentionTest, WithTheBiasOfTheDistance) {
  ExpectRows(Make(1)->Forward({x_}), {0.0996504, 2.8847045, 4.8847045, 0.0996504});
}

// The first token sees one token: n = 1, a = 1.6067761^2 = 2.5817295.
TEST_F(GatedAttentionTest, CausalTokensCountThoseThatTheySee) {
  context_.attention.set_causal(true);
  ExpectRows(Make(1)->Forward({x_}), {0.1867352, 3.3797967, 4.8847045, 0.0996504});
}

TEST_F(GatedAttentionTest, WhatItCannotBeMadeOfIsRefused) {
  const auto error = [&] {
    return std::string(
        BlockRegistry::Get().Create("block", "gated_attention", context_).status().message());
  };
  context_.attention.set_dropout(0.5f);
  EXPECT_EQ(error(),
            "attention.dropout: is 0.5, but block \"gated_attention\" uses no attention; set "
            "attention.dropout=0");
  context_.attention.set_name("linear");
  EXPECT_EQ(error(),
            "attention.name: is \"linear\", but block \"gated_attention\" uses no attention; "
            "choose \"none\"");
  context_.attention.set_dropout(0);
  context_.attention.set_name(kNoAttention);
  GatedAttentionOptions odd;
  odd.set_expansion_factor(1);
  odd.set_key_width(3);
  context_.options.PackFrom(odd);
  EXPECT_EQ(error(), "block.options.key_width: is 3, must be even");
}

}  // namespace
}  // namespace lra
