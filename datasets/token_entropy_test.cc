#include "datasets/token_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "datasets/data_test_util.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using std::numbers::ln2;

// Ids 1 and 2 occur two and three times in 1 2 1 2 2. The pairs are 12, 21, 12, 22: after 1 always
// comes 2, and after 2 one of both.
TEST(TokenCountsTest, HandMadeCounts) {
  TokenCounts counts(3);
  counts.Add({1, 2, 1, 2, 2});
  EXPECT_EQ(counts.tokens(), 5);
  EXPECT_NEAR(counts.UnigramNats(), -(0.4 * std::log(0.4) + 0.6 * std::log(0.6)), 1e-12);
  EXPECT_NEAR(counts.BigramNats(), (2 * 0 + 2 * ln2) / 4, 1e-12);
}

TEST(TokenCountsTest, NothingIsCountedFromOneSequenceToTheNext) {
  TokenCounts counts(4);
  counts.Add({1, 1});
  counts.Add({2, 2});
  counts.Add({3});
  counts.Add({});
  EXPECT_NEAR(counts.UnigramNats(), std::log(5) - 4 * ln2 / 5, 1e-12);
  EXPECT_EQ(counts.BigramNats(), 0) << "1 follows 1, and 2 follows 2";
}

TEST(TokenCountsTest, NothingAtAllHasNoEntropy) {
  EXPECT_EQ(TokenCounts(3).UnigramNats(), 0);
  EXPECT_EQ(TokenCounts(3).BigramNats(), 0);
}

// 5,000 ids are too many for a table.
TEST(TokenCountsTest, ALargeVocabularyCountsTheSame) {
  TokenCounts small(10), large(5000), part(5000);
  std::vector<int32_t> few, many;
  RandomStream random(3, RandomDomain::kTest, {0, 0, 0});
  for (int i = 0; i < 2000; ++i) {
    few.push_back(static_cast<int32_t>(random.Below(10)));
    many.push_back(few.back() * 555);
  }
  small.Add(few);
  small.Add(few);
  large.Add(many);
  part.Add(many);
  large.Merge(part);
  EXPECT_NEAR(large.UnigramNats(), small.UnigramNats(), 1e-12);
  EXPECT_NEAR(large.BigramNats(), small.BigramNats(), 1e-12);
  EXPECT_NEAR(small.UnigramNats(), std::log(10), 0.01);
  EXPECT_NEAR(small.BigramNats(), std::log(10), 0.05);
}

class TokenEntropyTest : public testing::Test {
 protected:
  SplitView Write(const TaskSpec& spec, const std::vector<EncodedExample>& examples,
                  int most_tokens = 40) {
    const std::string path = folder_.File("d");
    WriteTestData(path, spec, {{"train", examples}});
    DataView view;
    view.set_max_length_tokens(most_tokens);
    return *SplitView::Create(*Dataset::Open(path, {}), "train", view);
  }

  const TestFolder folder_;
};

// Under the view each text is cut to two tokens: 1 2, 1 2, 3 3, 3 4 remain.
TEST_F(TokenEntropyTest, CountsBothTextsOfPairsAsTheViewCutsThem) {
  TaskSpec spec = SmallSpec(16, true);
  spec.set_close_bracket_id(0);
  const TokenEntropy entropy =
      MeasureTokenEntropy(Write(spec,
                                {{.tokens = {1, 2, 5, 6}, .tokens_b = {1, 2}},
                                 {.tokens = {3, 3, 7}, .tokens_b = {3, 4, 9}}},
                                2),
                          2);
  EXPECT_EQ(entropy.examples, 2);
  EXPECT_EQ(entropy.tokens, 8);
  // Counts 2, 2, 3, 1 of 8.
  EXPECT_NEAR(entropy.unigram_nats, std::log(8) - (4 * ln2 + 3 * std::log(3)) / 8, 1e-12);
  EXPECT_NEAR(entropy.bigram_nats, 2 * ln2 / 4, 1e-12);
}

TEST_F(TokenEntropyTest, ThreadsChangeNothing) {
  const SplitView split = Write(SmallSpec(), RandomExamples(SmallSpec(), 103, 9));
  const TokenEntropy one = MeasureTokenEntropy(split, 1), five = MeasureTokenEntropy(split, 5);
  EXPECT_EQ(one.examples, 103);
  EXPECT_EQ(one.unigram_nats, five.unigram_nats);
  EXPECT_EQ(one.bigram_nats, five.bigram_nats);
  EXPECT_EQ(one.tokens, five.tokens);
}

// The examples 0, 2, 4 hold id 1 only, the others id 2.
TEST_F(TokenEntropyTest, ALargeSplitIsCountedInPartEvenly) {
  std::vector<EncodedExample> examples(6);
  for (int i = 0; i < 6; ++i) {
    const auto id = static_cast<uint16_t>(1 + i % 2);
    examples[i].tokens = {id, id, static_cast<uint16_t>(3 + i)};
  }
  TaskSpec spec = SmallSpec();
  spec.set_close_bracket_id(0);
  const TokenEntropy entropy = MeasureTokenEntropy(Write(spec, examples, 2), 3, 3);
  EXPECT_EQ(entropy.examples, 3);
  EXPECT_EQ(entropy.tokens, 6);
  EXPECT_EQ(entropy.unigram_nats, 0);
}

}  // namespace
}  // namespace lra
