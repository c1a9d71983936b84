#include "train/micro_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

using testing::ElementsAre;

HostBatch ThreeExamples() {
  return {.batch = 3,
          .length = 4,
          .tokens = {1, 2, 0, 0, 3, 0, 0, 0, 4, 5, 6, 7},
          .lengths = {2, 1, 4},
          .labels = {9, 8, 7},
          .example_ids = {30, 10, 20}};
}

TEST(SplitBatch, ZeroAndLargeMeanOnePart) {
  for (int64_t examples : {0, 3, 100}) {
    const auto parts = SplitBatch(ThreeExamples(), examples);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].tokens, ThreeExamples().tokens);
  }
}

TEST(SplitBatch, KeepsOrderAndTrimsPadding) {
  const auto parts = SplitBatch(ThreeExamples(), 2);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].batch, 2);
  EXPECT_EQ(parts[0].length, 2);
  EXPECT_THAT(parts[0].tokens, ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(parts[0].lengths, ElementsAre(2, 1));
  EXPECT_THAT(parts[0].labels, ElementsAre(9, 8));
  EXPECT_THAT(parts[0].example_ids, ElementsAre(30, 10));
  EXPECT_THAT(parts[1].tokens, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(parts[1].example_ids, ElementsAre(20));
}

// For pairs, both columns are divided alike, and each is cut to its own longest text.
TEST(SplitBatch, CutsBothTextsOfPairs) {
  HostBatch batch = ThreeExamples();
  batch.length_b = 3;
  batch.tokens_b = {1, 0, 0, 2, 3, 0, 4, 5, 6};
  batch.lengths_b = {1, 2, 3};
  const auto parts = SplitBatch(batch, 2);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(parts[0].tokens, ElementsAre(1, 2, 3, 0));
  EXPECT_EQ(parts[0].length_b, 2);
  EXPECT_THAT(parts[0].tokens_b, ElementsAre(1, 0, 2, 3));
  EXPECT_THAT(parts[0].lengths_b, ElementsAre(1, 2));
  EXPECT_THAT(parts[1].tokens, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(parts[1].tokens_b, ElementsAre(4, 5, 6));
}

// Where tokens are guessed, a part has those of its own examples.
TEST(SplitBatch, KeepsEachExamplesTargets) {
  HostBatch batch = ThreeExamples();
  batch.prompts = {1, 2, 1};  // of 2, 1 and 4 tokens: the second example has nothing to guess
  batch.labels = {2, 5, 6, 7};
  EXPECT_EQ(TargetsOf(batch, 1), 0);
  const auto parts = SplitBatch(batch, 1);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(parts[0].labels, ElementsAre(2));
  EXPECT_THAT(parts[1].labels, testing::IsEmpty());
  EXPECT_THAT(parts[2].labels, ElementsAre(5, 6, 7));
  EXPECT_THAT(parts[2].prompts, ElementsAre(1));
  EXPECT_THAT(EveryNth(batch, 0, 2).labels, ElementsAre(2, 5, 6, 7));
  EXPECT_THAT(EveryNth(batch, 1, 2).labels, testing::IsEmpty());
}

TEST(PadToMultipleTest, WidensRowsUpToTheMost) {
  HostBatch batch = ThreeExamples();
  batch.length_b = 3;
  batch.tokens_b = {1, 0, 0, 2, 3, 0, 4, 5, 6};
  const HostBatch padded = PadToMultiple(batch, 6, 5);
  EXPECT_EQ(padded.length, 5);
  EXPECT_EQ(padded.length_b, 5);
  EXPECT_THAT(padded.tokens, ElementsAre(1, 2, 0, 0, 0, 3, 0, 0, 0, 0, 4, 5, 6, 7, 0));
  EXPECT_THAT(padded.tokens_b, ElementsAre(1, 0, 0, 0, 0, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0));
  EXPECT_EQ(padded.lengths, batch.lengths);
  EXPECT_EQ(PadToMultiple(batch, 2, 100).length, 4);
  EXPECT_EQ(PadToMultiple(batch, 3, 2).length, 4) << "nothing is cut";
  EXPECT_EQ(PadToMultiple(batch, 3, 100).length, 6);
  batch.fixed_length = 4;
  EXPECT_EQ(PadToMultiple(batch, 3, 100).length, 4);
}

TEST(SplitBatch, CutsRealValues) {
  const HostBatch batch{.batch = 2,
                        .length = 3,
                        .lengths = {3, 3},
                        .values = {.1f, .2f, .3f, .4f, .5f, .6f},
                        .labels = {0, 1},
                        .example_ids = {7, 8}};
  const auto parts = SplitBatch(batch, 1);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_THAT(parts[0].values, ElementsAre(.1f, .2f, .3f));
  EXPECT_THAT(parts[1].values, ElementsAre(.4f, .5f, .6f));
  EXPECT_TRUE(parts[1].tokens.empty());
}

TEST(EveryNth, TakesItsRowsInOrder) {
  HostBatch batch = ThreeExamples();
  batch.length_b = 2;
  batch.tokens_b = {1, 0, 2, 3, 4, 5};
  batch.lengths_b = {1, 2, 2};
  const HostBatch even = EveryNth(batch, 0, 2), odd = EveryNth(batch, 1, 2);
  EXPECT_EQ(even.batch, 2);
  EXPECT_THAT(even.example_ids, ElementsAre(30, 20));
  EXPECT_THAT(even.labels, ElementsAre(9, 7));
  EXPECT_THAT(even.tokens, ElementsAre(1, 2, 0, 0, 4, 5, 6, 7));
  EXPECT_THAT(even.tokens_b, ElementsAre(1, 0, 4, 5));
  EXPECT_THAT(odd.example_ids, ElementsAre(10));
  EXPECT_EQ(odd.length, 1);
  EXPECT_THAT(odd.tokens, ElementsAre(3));
  EXPECT_THAT(EveryNth(batch, 1, 2, true).tokens, ElementsAre(3, 0, 0, 0));
}

// Rows have unlike numbers of hidden tokens, hence of labels.
TEST(EveryNth, TakesTheHiddenTokensOfItsRows) {
  HostBatch batch = ThreeExamples();
  batch.hidden.assign(batch.tokens.size(), 0);
  batch.hidden[0] = batch.hidden[1] = batch.hidden[batch.length] = 1;
  batch.hidden[2 * batch.length + 3] = 1;
  batch.labels = {11, 12, 13, 14};
  EXPECT_THAT(EveryNth(batch, 0, 2).labels, ElementsAre(11, 12, 14));
  const HostBatch odd = EveryNth(batch, 1, 2);
  EXPECT_THAT(odd.labels, ElementsAre(13));
  EXPECT_THAT(odd.hidden, ElementsAre(1));
  const HostBatch padded = PadToMultiple(batch, 6, 100);
  EXPECT_EQ(padded.hidden.size(), padded.tokens.size());
  EXPECT_EQ(TargetsOf(padded, 0), 2);
  EXPECT_EQ(TargetsOf(padded, 2), 1);
}

TEST(EveryNth, IsEmptyBeyondTheBatch) {
  const HostBatch none = EveryNth(ThreeExamples(), 3, 8);
  EXPECT_EQ(none.batch, 0);
  EXPECT_TRUE(none.tokens.empty());
  EXPECT_EQ(EveryNth(ThreeExamples(), 2, 8).batch, 1);
}

// If padding counts, a part is padded like its batch.
TEST(SplitBatch, KeepsTheLengthThatCounts) {
  HostBatch batch = ThreeExamples();
  const auto kept = SplitBatch(batch, 2, true);
  EXPECT_EQ(kept[0].length, 4);
  EXPECT_THAT(kept[0].tokens, ElementsAre(1, 2, 0, 0, 3, 0, 0, 0));
  batch.fixed_length = 4;
  const auto fixed = SplitBatch(batch, 2);
  EXPECT_EQ(fixed[0].fixed_length, 4);
  EXPECT_EQ(fixed[0].tokens, kept[0].tokens);
  const HostBatch trimmed = TrimPadding(fixed[0]);
  EXPECT_EQ(trimmed.length, 2);
  EXPECT_EQ(trimmed.fixed_length, 0);
  EXPECT_THAT(trimmed.tokens, ElementsAre(1, 2, 3, 0));
}

}  // namespace
}  // namespace lra
