// Tests which blocks BigBird sees.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "models/attention/bigbird.pb.h"
#include "models/conformance/pattern_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;

constexpr int64_t kBigbirdTokens = 48;

BigbirdOptions BigbirdBlocks(int block_tokens, int random_blocks) {
  BigbirdOptions options;
  options.set_block_tokens(block_tokens);
  options.set_random_blocks(random_blocks);
  return options;
}

MadeAttention MakeBigbird(const BigbirdOptions& options) {
  return MakeAttention("bigbird", &options, SizesOf(kBigbirdTokens));
}

// Returns the key blocks, of 4 tokens each, that query block i of a head sees in an example of
// `length` tokens.
std::vector<int64_t> BlocksOf(const Attention& attention, int64_t head, int64_t i,
                              int64_t length = kBigbirdTokens) {
  AttentionCase c = CaseOf(kBigbirdTokens);
  c.MaskFromLengths({length});
  std::vector<int64_t> blocks;
  for (const int64_t key : KeysOf(attention, c, 4 * i, head)) {
    if (blocks.empty() || blocks.back() != key / 4) blocks.push_back(key / 4);
  }
  return blocks;
}

TEST(BigbirdTest, SeesGlobalNeighbouringAndRandomBlocks) {
  const MadeAttention made = MakeBigbird(BigbirdBlocks(4, 2));
  for (int64_t i = 1; i < 11; ++i) {
    const std::set<int64_t> fixed = {0, 11, i - 1, i, i + 1};
    const std::vector<int64_t> seen = BlocksOf(*made, 0, i);
    EXPECT_THAT(seen, testing::IsSupersetOf(fixed)) << i;
    EXPECT_EQ(seen.size(), fixed.size() + 2) << i;
  }
  EXPECT_EQ(BlocksOf(*made, 1, 0).size(), 12u);
  EXPECT_EQ(BlocksOf(*made, 1, 11).size(), 12u);
}

// The last block of a short example is its own last one (tokens 24 to 27), and its random blocks
// come from its own blocks, too.
TEST(BigbirdTest, TheLastBlockIsTheExamplesOwn) {
  const MadeAttention made = MakeBigbird(BigbirdBlocks(4, 1));
  const std::vector<int64_t> seen = BlocksOf(*made, 0, 2, 26);
  EXPECT_THAT(seen, testing::IsSupersetOf({0, 1, 2, 3, 6}));
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_THAT(BlocksOf(*made, 0, 6, 26), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(BigbirdTest, DrawsFollowThePrioritiesWhichDifferBetweenHeads) {
  const MadeAttention made = MakeBigbird(BigbirdBlocks(4, 2));
  int differ = 0;
  for (int64_t i = 1; i < 11; ++i) differ += BlocksOf(*made, 0, i) != BlocksOf(*made, 1, i);
  EXPECT_GT(differ, 4);
  at::Tensor priorities = at::arange(12, at::kFloat).expand({2, 12, 12}).clone();
  priorities[1] = -priorities[1];
  made.SetBuffer("block_priorities", priorities);
  EXPECT_THAT(BlocksOf(*made, 0, 8), ElementsAre(0, 1, 2, 7, 8, 9, 11));
  EXPECT_THAT(BlocksOf(*made, 1, 8), ElementsAre(0, 6, 7, 8, 9, 10, 11));
}

TEST(BigbirdTest, Lra2020DrawsFromTheFirst1024Tokens) {
  BigbirdOptions options = BigbirdBlocks(256, 4);
  options.set_variant(BigbirdOptions::LRA2020);
  const MadeAttention made = MakeAttention("bigbird", &options, SizesOf(2048));
  std::set<int64_t> blocks;
  for (const int64_t key : KeysOf(*made, CaseOf(2048), 6 * 256)) blocks.insert(key / 256);
  EXPECT_THAT(blocks, ElementsAre(0, 1, 2, 3, 5, 6, 7));
}

TEST(BigbirdTest, IsSoftmaxAttentionWhereItsBlocksCoverEverything) {
  AttentionCase c = CaseOf(37);
  c.MaskFromLengths({20});
  const AttentionOutcome expected = RunAttention(*MakeAttention("transformer"), Form::kOracle, c);
  for (const BigbirdOptions& options :
       {BigbirdBlocks(64, 3), BigbirdBlocks(37, 0), BigbirdBlocks(5, 4), BigbirdBlocks(2, 20)}) {
    const AttentionOutcome actual = RunAttention(*MakeBigbird(options), Form::kFast, c);
    EXPECT_LE(OutcomeDifference(actual, expected, c), 1e-12);
  }
}

TEST(BigbirdTest, KeepsThePromises) {
  ExpectKeepsPromises("bigbird", BigbirdBlocks(4, 2));
  ExpectKeepsPromises("bigbird", BigbirdBlocks(3, 0));
}

TEST(BigbirdTest, RefusesImpossibleOptionsAndLengths) {
  ExpectRefused("bigbird", BigbirdBlocks(0, 1),
                "attention.options.block_tokens: 0 is out of range");
  ExpectRefused("bigbird", BigbirdBlocks(4, -1),
                "attention.options.random_blocks: -1 is out of range");
  EXPECT_THROW(MakeBigbird(BigbirdBlocks(4, 2))->Attend(CaseOf(49).input), c10::Error);
}

}  // namespace
}  // namespace lra
