#include "eval/attention_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

std::vector<uint32_t> Coverage(const std::vector<float>& row, double threshold) {
  std::vector<uint32_t> counts(row.size(), 0);
  AddCoverage(row, threshold, absl::MakeSpan(counts));
  return counts;
}

// Computed by hand: the sorted weights are 0.5, 0.25, 0.125, 0.125; their sums are 0.5, 0.75,
// 0.875, 1.
TEST(AddCoverageTest, HeaviestFirstUntilAboveTheThreshold) {
  const std::vector<float> row = {0.125f, 0.5f, 0.125f, 0.25f};
  EXPECT_THAT(Coverage(row, 0), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Coverage(row, 0.4), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Coverage(row, 0.5), ElementsAre(0, 1, 0, 1));   // 0.5 is not above 0.5
  EXPECT_THAT(Coverage(row, 0.75), ElementsAre(1, 1, 0, 1));  // of two equal keys, the earlier
  EXPECT_THAT(Coverage(row, 0.9), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(Coverage(row, 1), ElementsAre(1, 1, 1, 1));  // the threshold is never exceeded
}

TEST(AddCoverageTest, AddsToWhatIsThere) {
  std::vector<uint32_t> counts = {2, 0};
  AddCoverage(std::vector<float>{1, 0}, 0.5, absl::MakeSpan(counts));
  EXPECT_THAT(counts, ElementsAre(3, 0));
}

// Two matrices, threshold 0.6. In the first, row 0 needs both keys and row 1 its second. In the
// second, row 0 needs its first key and row 1 its second.
TEST(AttentionMapSumTest, MeanAndCoverageByHand) {
  AttentionMapSum sum(0.6);
  sum.Add(std::vector<float>{0.5f, 0.5f, 0.25f, 0.75f}, 2, 2);
  sum.Add(std::vector<float>{1, 0, 0, 1}, 2, 2);
  EXPECT_EQ(sum.matrices(), 2);
  const AttentionMap mean = sum.Mean(), coverage = sum.Coverage();
  EXPECT_EQ(mean.rows, 2);
  EXPECT_EQ(mean.columns, 2);
  EXPECT_THAT(mean.values, ElementsAre(0.75f, 0.25f, 0.125f, 0.875f));
  EXPECT_THAT(coverage.values, ElementsAre(1, 0.5f, 0, 1));
}

TEST(AttentionMapSumTest, EntriesCountTheMatricesThatHaveThem) {
  AttentionMapSum sum(0.5);
  sum.Add(std::vector<float>{1}, 1, 1);
  sum.Add(std::vector<float>{0.5f, 0.25f, 0.25f, 0, 1, 0, 0, 0, 1}, 3, 3);
  sum.Add(std::vector<float>{0.25f, 0.75f, 1, 0}, 2, 2);
  const AttentionMap mean = sum.Mean();
  ASSERT_EQ(mean.values.size(), 9u);
  EXPECT_THAT(mean.values, ElementsAre(FloatEq(1.75f / 3), 0.5f, 0.25f, 0.5f, 0.5f, 0, 0, 0, 1));
  EXPECT_THAT(sum.Coverage().values, ElementsAre(FloatEq(2.0f / 3), 1, 0, 0.5f, 0.5f, 0, 0, 0, 1));
}

TEST(AverageMapTest, EntryByEntry) {
  const AttentionMap average = AverageMap({{1, 2, {1, 0}}, {1, 2, {0, 0.5f}}});
  EXPECT_THAT(average.values, ElementsAre(0.5f, 0.25f));
}

// Three queries; key 0 is CLS, the other four are the pixels of a 2 x 2 picture, row by row.
TEST(ReceivedPictureTest, IsTheMeanOverQueriesOfEachPixelsKey) {
  const AttentionMap map = {3, 5, {9, 0, 0.25f, 1, 0, 9, 0.5f, 0.25f, 1, 0, 9, 1, 0.25f, 1, 0}};
  const AttentionMap picture = ReceivedPicture(map, 1, 2);
  EXPECT_EQ(picture.rows, 2);
  EXPECT_EQ(picture.columns, 2);
  EXPECT_THAT(picture.values, ElementsAre(0.5f, 0.25f, 1, 0));
}

}  // namespace
}  // namespace lra
