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

}  // namespace
}  // namespace lra
