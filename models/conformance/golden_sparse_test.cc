// Tests of the Sparse Transformer's patterns: against golden values, and which keys they see.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/attention/sparse.pb.h"
#include "models/conformance/pattern_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;

// clang-format off
const Golden kSparse = {"sparse fixed causal l=3 c=1 (paper: j mod l >= l-c)", {0.29552021, 0.80849640, -0.81827711}, {0.17792744, -0.69115385, 0.26895822}, {0.0619917618, 0.3934182842, 0.83338793, 0.72112374, 19.26462181}};
const Golden kLra2020Sparse = {"sparse fixed causal l=3 c=1, LRA flavour (also j mod l == 0)", {0.29552021, 0.80849640, -0.81827711}, {0.21056775, -0.27489480, -0.03282651}, {0.8171072981, -0.1306010539, 0.59447847, 0.51393949, 14.83946081}};
// clang-format on

SparseOptions Fixed(int block_tokens, int summary_tokens,
                    SparseOptions::Variant variant = SparseOptions::PAPER) {
  SparseOptions options;
  options.set_block_tokens(block_tokens);
  options.set_summary_tokens(summary_tokens);
  options.set_variant(variant);
  return options;
}

SparseOptions Strided(int stride) {
  SparseOptions options;
  options.set_block_tokens(stride);
  options.set_pattern(SparseOptions::STRIDED);
  return options;
}

SparseOptions WithOpenToken(int block_tokens, int summary_tokens) {
  SparseOptions options = Fixed(block_tokens, summary_tokens, SparseOptions::LRA2020);
  options.set_opens_first_token(true);
  return options;
}

TEST(SparseGoldenTest, FastFormAndOracle) {
  const SparseOptions paper = Fixed(3, 1), lra2020 = Fixed(3, 1, SparseOptions::LRA2020);
  ExpectGolden(kSparse, Causal(GoldenCase()), *MakeAttention("sparse", &paper));
  ExpectGolden(kLra2020Sparse, GoldenCase(), *MakeAttention("sparse", &lra2020));
}

TEST(SparseGoldenTest, IsSoftmaxAttentionWhereThePatternCoversEverything) {
  for (const SparseOptions& options :
       {Fixed(6, 1), Fixed(100, 1), Fixed(2, 2), Strided(6), Strided(1)}) {
    const MadeAttention made = MakeAttention("sparse", &options);
    ExpectGolden(kGoldenSoftmax, GoldenCase(), *made);
    ExpectGolden(kGoldenCausalSoftmax, Causal(GoldenCase()), *made);
  }
}

TEST(SparseTest, FixedSeesItsBlockAndEveryBlocksLastTokens) {
  const SparseOptions options = Fixed(4, 1), lra2020 = Fixed(4, 1, SparseOptions::LRA2020);
  const MadeAttention made = MakeAttention("sparse", &options);
  EXPECT_THAT(KeysOf(*made, CaseOf(14), 5), ElementsAre(3, 4, 5, 6, 7, 11));
  // The last block is so short that it has no summary token.
  EXPECT_THAT(KeysOf(*made, CaseOf(14), 13), ElementsAre(3, 7, 11, 12, 13));
  EXPECT_THAT(KeysOf(*made, Causal(CaseOf(14)), 5), ElementsAre(3, 4, 5));
  EXPECT_THAT(KeysOf(*MakeAttention("sparse", &lra2020), CaseOf(14), 9),
              ElementsAre(0, 3, 4, 7, 8, 9));
}

TEST(SparseTest, StridedSeesNearTokensAndEveryStrideth) {
  const SparseOptions options = Strided(3);
  const MadeAttention made = MakeAttention("sparse", &options);
  EXPECT_THAT(KeysOf(*made, CaseOf(14), 6), ElementsAre(0, 3, 4, 5, 6, 7, 8, 9, 12));
  EXPECT_THAT(KeysOf(*made, CaseOf(14), 13), ElementsAre(1, 4, 7, 10, 11, 12, 13));
  EXPECT_THAT(KeysOf(*made, Causal(CaseOf(14)), 6), ElementsAre(0, 3, 4, 5, 6));
}

TEST(SparseTest, AnOpenFirstTokenSeesAllAndIsSeenByAll) {
  const SparseOptions options = WithOpenToken(4, 1);
  const MadeAttention made = MakeAttention("sparse", &options);
  EXPECT_THAT(KeysOf(*made, CaseOf(7), 0), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  // Token 6 is at place 5 of the pattern, which sees the places 0, 3, 4 and 5.
  EXPECT_THAT(KeysOf(*made, CaseOf(7), 6), ElementsAre(0, 1, 4, 5, 6));
  EXPECT_EQ(made->traits().causality, Causality::kNever);
}

TEST(SparseTest, KeepsThePromises) {
  ExpectKeepsPromises("sparse", Fixed(6, 2));
  ExpectKeepsPromises("sparse", Fixed(5, 2, SparseOptions::LRA2020));
  ExpectKeepsPromises("sparse", WithOpenToken(5, 1));
  ExpectKeepsPromises("sparse", Strided(4));
}

TEST(SparseTest, RefusesImpossibleOptions) {
  ExpectRefused("sparse", Fixed(-2, 1), "attention.options.block_tokens: -2 is out of range");
  ExpectRefused("sparse", Fixed(8, 9), "attention.options.summary_tokens: is 9");
  ExpectRefused("sparse", Fixed(8, 0), "attention.options.summary_tokens: 0 is out of range");
  SparseOptions options = Strided(4);
  options.set_variant(SparseOptions::LRA2020);
  ExpectRefused("sparse", options, "attention.options.pattern: is STRIDED");
  options = Fixed(4, 1);
  options.set_opens_first_token(true);
  ExpectRefused("sparse", options, "attention.options.opens_first_token");
}

}  // namespace
}  // namespace lra
