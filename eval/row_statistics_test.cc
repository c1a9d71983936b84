#include "eval/row_statistics.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "eval/crossed_test_util.h"

namespace lra {
namespace {

using ::lra::testing::RunsOf;

// Data set P, in which five neighbours have equal outcomes.
RowRuns Row(char name, int64_t block_examples, size_t runs = 3) {
  RowRuns row;
  row.metric = *FindMetric(kAccuracy);
  row.examples = 2000;
  row.block_examples = block_examples;
  for (const ExampleValues& run : RunsOf(name)) {
    if (row.runs.size() < runs)
      row.runs.push_back({Mean(run), std::make_shared<const ExampleValues>(run)});
  }
  return row;
}

double WidthOfRow(const RowRuns& row) {
  const Interval interval = RowInterval(row, *EstimateRow(row), 0.95);
  return interval.high - interval.low;
}

TEST(RowStatisticsTest, ARowInBlocksIsWider) {
  EXPECT_GT(WidthOfRow(Row('A', 5)), 1.5 * WidthOfRow(Row('A', 1)));
  // One run is as wide as one of a fifth of the examples: about the square root of 5.
  const double wider = WidthOfRow(Row('A', 5, 1)) / WidthOfRow(Row('A', 1, 1));
  EXPECT_GT(wider, 2.2);
  EXPECT_LT(wider, 2.3);
  EXPECT_EQ(EstimateRow(Row('A', 5))->moments->blocks, 400);
}

TEST(RowStatisticsTest, OneRunInBlocksIsNotExact) {
  const RowRuns plain = Row('A', 1, 1), fives = Row('A', 5, 1);
  EXPECT_EQ(IntervalMethod(plain, *EstimateRow(plain)), "exact binomial");
  EXPECT_EQ(IntervalMethod(fives, *EstimateRow(fives)), "examples of one run");
}

RowRuns RowOfOne(const ExampleValues& values, int64_t block_examples) {
  RowRuns row;
  row.metric = *FindMetric(kAccuracy);
  row.examples = static_cast<int64_t>(values.size());
  row.block_examples = block_examples;
  row.runs.push_back({Mean(values), std::make_shared<const ExampleValues>(values)});
  return row;
}

// The majority class, where two classes take turns, is right on half of each block.
TEST(RowStatisticsTest, BlocksThatScatterLessThanExamplesDoNotCount) {
  ExampleValues turns(2000);
  for (size_t i = 0; i < turns.size(); i += 2) turns[i] = 1;
  EXPECT_DOUBLE_EQ(WidthOfRow(RowOfOne(turns, 80)), WidthOfRow(RowOfOne(turns, 1)));
  turns[0] = 0;
  EXPECT_DOUBLE_EQ(WidthOfRow(RowOfOne(turns, 80)), WidthOfRow(RowOfOne(turns, 1)));
  const RowRuns right = RowOfOne(ExampleValues(2000, 1.0), 80);
  EXPECT_EQ(EstimateRow(right)->estimate.constant_examples, 25);
}

TEST(RowStatisticsTest, TwoRunsInBlocksAreComparedByTheirBlocks) {
  const auto plain = CompareRows(Row('A', 1, 1), Row('B', 1, 1), {});
  const auto fives = CompareRows(Row('A', 5, 1), Row('B', 5, 1), {});
  ASSERT_TRUE(plain.has_value() && fives.has_value());
  EXPECT_EQ(plain->method, "McNemar");
  EXPECT_EQ(fives->method, "unpaired");
  EXPECT_NEAR(fives->estimate.mean, plain->estimate.mean, 1e-12);
  EXPECT_GT(fives->p, 10 * plain->p);
  EXPECT_EQ(fives->estimate.example_degrees, 399);
}

TEST(RowStatisticsTest, DifferencesInBlocksAreWiderHoweverRowsArePaired) {
  for (const bool is_paired : {false, true}) {
    const auto plain = CompareRows(Row('A', 1), Row('B', 1), {.is_paired = is_paired});
    const auto fives = CompareRows(Row('A', 5), Row('B', 5), {.is_paired = is_paired});
    ASSERT_TRUE(plain.has_value() && fives.has_value());
    EXPECT_GT(fives->p, plain->p) << is_paired;
    EXPECT_LT(fives->interval.low, plain->interval.low) << is_paired;
    const auto planned = DesignOf(Row('A', 1), Row('B', 1), is_paired);
    const auto planned_fives = DesignOf(Row('A', 5), Row('B', 5), is_paired);
    ASSERT_TRUE(planned.has_value() && planned_fives.has_value());
    EXPECT_LT(Power(*planned_fives, 0.02), Power(*planned, 0.02)) << is_paired;
  }
}

// A is right on every second example and B on none, so blocks are alike, and single examples plan.
TEST(RowStatisticsTest, PowerTakesWhatComparisonsTake) {
  RowRuns a, b;
  for (RowRuns* row : {&a, &b}) {
    row->metric = *FindMetric(kAccuracy);
    row->examples = 2000;
    row->block_examples = 80;
    for (size_t s = 0; s < 2; ++s) {
      ExampleValues values(2000);
      for (size_t i = 0; i < values.size() && row == &a; i += 2) values[i] = 1;
      row->runs.push_back({Mean(values), std::make_shared<const ExampleValues>(values)});
    }
  }
  for (const bool is_paired : {false, true}) {
    const auto planned = DesignOf(a, b, is_paired);
    ASSERT_TRUE(planned.has_value());
    EXPECT_EQ(planned->block_examples, 1) << is_paired;
    EXPECT_GT(planned->components.examples, 0.2) << is_paired;
  }
  EXPECT_EQ(DesignOf(Row('A', 5), Row('B', 5), false)->block_examples, 5);
  EXPECT_EQ(DesignOf(Row('A', 5), Row('B', 5), true)->block_examples, 5);
}

// There are seven blocks, and rows differ on more than ten examples.
TEST(RowStatisticsTest, FewBlocksAreNotFewExamples) {
  const auto difference = CompareRows(Row('A', 300), Row('Z', 300), {});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->estimate.example_degrees, 6);
  EXPECT_FALSE(difference->differs_on_too_few);
}

TEST(RowStatisticsTest, ABaselineIsHarderToBeAboveInBlocks) {
  EXPECT_GT(*NotAboveP(Row('A', 5), Row('Z', 5)), *NotAboveP(Row('A', 1), Row('Z', 1)));
  // Singly all three are above by the exact test of data set P, and by blocks of 400 none is.
  for (int64_t s = 0; s < 3; ++s) {
    EXPECT_TRUE(*RunIsAbove(Row('A', 1), s, Row('Z', 1))) << s;
    EXPECT_FALSE(*RunIsAbove(Row('A', 400), s, Row('Z', 400))) << s;
  }
}

TEST(RowStatisticsTest, CountsAllowWhatBlocksDo) {
  RowRuns plain = Row('A', 1), fives = Row('A', 5);
  for (RowRuns* row : {&plain, &fives}) {
    for (RunScores& run : row->runs) run.examples = nullptr;
  }
  EXPECT_EQ(EstimateRow(fives)->basis, Basis::kCounts);
  EXPECT_GT(WidthOfRow(fives), 1.5 * WidthOfRow(plain));
  EXPECT_GE(WidthOfRow(fives), WidthOfRow(Row('A', 5)));
}

}  // namespace
}  // namespace lra
