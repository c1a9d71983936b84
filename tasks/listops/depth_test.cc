#include "tasks/listops/depth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_split.h"
#include "lra/config.h"
#include "tasks/listops/listops.pb.h"
#include "tasks/listops/oracle.h"
#include "tasks/listops/tree_generator.h"

namespace lra::listops {
namespace {

constexpr NodeGuesses kGuesses = {0, 9, 4, 4};  // MIN, MAX, MED, SM

std::vector<int32_t> Ids(absl::string_view text) {
  std::vector<int32_t> ids;
  for (absl::string_view word : absl::StrSplit(text, ' ')) ids.push_back(TokenId(word));
  return ids;
}

struct Case {
  const char* text;
  std::vector<int32_t> values;  // to depth 0, 1, 2, ...; the last is the expression's value
  int evidence_depth;
};

// Worked out by hand.
const Case kCases[] = {
    {"7", {7}, 0},
    {"[MAX 2 9 ]", {9}, 0},
    {"[MAX 2 5 ]", {9, 5}, 1},
    {"[MAX 2 [MIN 8 9 ] 3 ]", {9, 3, 8}, 2},
    {"[MIN 7 [MAX 3 4 ] 5 ]", {0, 5, 4}, 2},
    // The guess for MED is right by luck.
    {"[SM 1 2 [MED 1 4 8 ] ]", {4, 7, 7}, 1},
    {"[SM 1 2 [SM 9 [MIN 3 ] ] ]", {4, 7, 2, 5}, 3},
    // An even number of arguments: the floor of the mean of the middle two, (2 + 5) / 2.
    {"[MED 8 1 5 2 ]", {4, 3}, 1},
    {"[MED 3 3 [MAX 1 ] ]", {4, 3, 3}, 1},
    // Right at depth 0, wrong at depth 1: evidence is the first that is right.
    {"[SM 0 [SM 2 2 ] [MIN 5 ] [MIN 5 ] ]", {4, 4, 4}, 0},
    {"[MAX 1 [MIN 9 ] ]", {9, 1, 9}, 0},
};

TEST(DepthTest, HandMadeExpressions) {
  for (const Case& c : kCases) {
    const std::vector<int32_t> ids = Ids(c.text);
    for (int depth = 0; depth < 12; ++depth) {
      const size_t known = std::min<size_t>(depth, c.values.size() - 1);
      EXPECT_EQ(EvaluateToDepth(ids, depth, kGuesses), c.values[known]) << c.text << ", " << depth;
    }
    EXPECT_EQ(EvidenceDepth(ids, c.values.back(), 10, kGuesses), c.evidence_depth) << c.text;
  }
}

TEST(DepthTest, EvidenceBeyondTheLimit) {
  const std::vector<int32_t> ids = Ids("[SM 1 2 [SM 9 [MIN 3 ] ] ]");  // 4, 7, 2, 5
  EXPECT_EQ(EvidenceDepth(ids, 5, 2, kGuesses), 3);
  EXPECT_EQ(EvidenceDepth(ids, 8, 10, kGuesses), 11) << "no depth gives a wrong label";
}

// Views may cut the end off and may append a mark.
TEST(DepthTest, WhatIsLeftOfACutExpression) {
  EXPECT_EQ(EvaluateToDepth(Ids("[MAX 2 [MIN 8"), 2, kGuesses), 8);
  EXPECT_EQ(EvaluateToDepth(Ids("[MAX 2 [MIN"), 2, kGuesses), 2) << "MIN of nothing is guessed";
  EXPECT_EQ(EvaluateToDepth(Ids("[MED"), 2, kGuesses), 4);
  std::vector<int32_t> marked = Ids("[MAX 2 5 ]");
  marked.push_back(kVocabularySize);
  EXPECT_EQ(EvaluateToDepth(marked, 1, kGuesses), 5);
}

TEST(DepthTest, CommonestValuesOfAllNodes) {
  NodeCounts counts = {};
  CountNodes(Ids("[MIN [MIN 3 4 ] [MIN 3 ] [MAX 2 6 ] [SM 7 5 ] ]"), &counts);
  EXPECT_EQ(counts[0][3], 2);  // both inner MIN
  EXPECT_EQ(counts[0][2], 1);  // the root, by SM
  EXPECT_EQ(counts[1][6], 1);
  EXPECT_EQ(counts[3][2], 1);
  EXPECT_EQ(CommonestValues(counts), (NodeGuesses{3, 6, 0, 2}));
  CountNodes(Ids("[MIN 2 ]"), &counts);
  EXPECT_EQ(CommonestValues(counts)[0], 2) << "the smaller of two that are equally common";
}

class GeneratedTreesTest : public testing::Test {
 protected:
  GeneratedTreesTest() {
    ListOpsOptions options;
    EXPECT_TRUE(LoadTaskFile("listops")->options().UnpackTo(&options));
    const TreeGenerator generator(options);
    for (uint32_t i = 0; trees_.size() < kTrees; ++i) {
      RandomStream random(17, RandomDomain::kTest, {i, 0, 0});
      EncodedExample tree;
      if (generator.Draw(&random, &tree)) trees_.push_back(tree);
    }
    NodeCounts counts = {};
    for (const EncodedExample& tree : trees_) CountNodes(IdsOf(tree), &counts);
    guesses_ = CommonestValues(counts);
  }
  static std::vector<int32_t> IdsOf(const EncodedExample& tree) {
    return {tree.tokens.begin(), tree.tokens.end()};
  }
  static constexpr size_t kTrees = 2000;
  std::vector<EncodedExample> trees_;
  NodeGuesses guesses_;
};

TEST_F(GeneratedTreesTest, TheWholeDepthIsTheOraclesValue) {
  for (const EncodedExample& tree : trees_) {
    ASSERT_EQ(EvaluateToDepth(IdsOf(tree), 10, guesses_), *Evaluate(tree.tokens));
  }
}

// Figures of another program on 4,000 trees of the original generator. Both samples together have a
// standard deviation of at most 1.4 points.
TEST_F(GeneratedTreesTest, SharesSolvedAreThoseOfTheOriginalGenerator) {
  const double expected[] = {0.5975, 0.732, 0.825, 0.885, 0.937};
  for (int depth = 1; depth <= 5; ++depth) {
    int correct = 0;
    for (const EncodedExample& tree : trees_)
      correct += EvaluateToDepth(IdsOf(tree), depth, guesses_) == tree.label ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(correct) / kTrees, expected[depth - 1], 0.05) << depth;
  }
  EXPECT_EQ(guesses_[0], 0);
  EXPECT_EQ(guesses_[1], 9);
}

}  // namespace
}  // namespace lra::listops
