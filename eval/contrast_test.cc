#include "eval/contrast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "eval/comparison.h"
#include "eval/crossed_test_util.h"

namespace lra {
namespace {

using ::lra::testing::RunsOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<WeightedCell> Cells(double a, double b, double c, double d) {
  return {{a, RunsOf('A')}, {b, RunsOf('B')}, {c, RunsOf('C')}, {d, RunsOf('D')}};
}

TEST(ContrastTest, GoldenMainEffect) {
  const Contrast effect = ContrastOf(Cells(0.5, -0.5, 0.5, -0.5));
  EXPECT_NEAR(effect.estimate.mean, 0.02375, 1e-12);
  EXPECT_NEAR(HalfWidth(effect.estimate, 0.95), 0.021901928, 5e-10);
  EXPECT_NEAR(TwoSidedP(effect.estimate, 0), 0.04202962, 5e-9);
  EXPECT_THAT(effect.dropped_seeds, IsEmpty());
}

TEST(ContrastTest, GoldenInteraction) {
  const Contrast effect = ContrastOf(Cells(1, -1, -1, 1));
  EXPECT_NEAR(effect.estimate.mean, -0.010833333, 5e-10);
  EXPECT_NEAR(HalfWidth(effect.estimate, 0.95), 0.015629024, 5e-10);
  EXPECT_NEAR(TwoSidedP(effect.estimate, 0), 0.096437539, 5e-10);
  EXPECT_EQ(effect.estimate.example_variance, 0);  // cut
}

TEST(ContrastTest, TwoCellsAreAPairedDifference) {
  const Contrast effect =
      ContrastOf(std::vector<WeightedCell>{{1, RunsOf('A')}, {-1, RunsOf('B')}});
  const Estimate paired = PairedDifference(RunsOf('A'), RunsOf('B'));
  EXPECT_DOUBLE_EQ(effect.estimate.mean, paired.mean);
  EXPECT_DOUBLE_EQ(HalfWidth(effect.estimate, 0.95), HalfWidth(paired, 0.95));
}

// One seed each: A and B, C and D differ on the same two examples, which cancels in the sum.
TEST(ContrastTest, ExamplesWhoseMeanIsNotZeroAreCounted) {
  const std::vector<ExampleValues> one = {{1, 1, 0, 0}}, other = {{0, 0, 0, 0}};
  EXPECT_EQ(ContrastOf(std::vector<WeightedCell>{{1, one}, {-1, other}}).differing_examples, 2);
  EXPECT_EQ(ContrastOf(std::vector<WeightedCell>{{1, one}, {-1, other}, {-1, one}, {1, other}})
                .differing_examples,
            0);
}

TEST(ContrastTest, ASeedWithAFailedRunIsDroppedAndNamed) {
  std::vector<WeightedCell> cells = Cells(0.5, -0.5, 0.5, -0.5);
  cells[2].runs[1].clear();
  const Contrast effect = ContrastOf(cells);
  EXPECT_THAT(effect.dropped_seeds, ElementsAre(1));
  for (WeightedCell& cell : cells) cell.runs.erase(cell.runs.begin() + 1);
  EXPECT_DOUBLE_EQ(effect.estimate.mean, ContrastOf(cells).estimate.mean);
}

TEST(ContrastTest, BlocksAreThoseOfThePairedDifference) {
  const Contrast effect =
      ContrastOf(std::vector<WeightedCell>{{1, RunsOf('A')}, {-1, RunsOf('B')}}, 5);
  const Estimate paired = PairedDifference(RunsOf('A'), RunsOf('B'), 5);
  EXPECT_EQ(effect.estimate.example_degrees, 399);
  EXPECT_DOUBLE_EQ(HalfWidth(effect.estimate, 0.95), HalfWidth(paired, 0.95));
}

TEST(ContrastDeathTest, CellsHaveEquallyManyExamples) {
  std::vector<WeightedCell> cells = Cells(1, -1, -1, 1);
  cells[1].runs[0].pop_back();
  EXPECT_DEATH(ContrastOf(cells), "1999 examples beside 2000");
}

TEST(ContrastTest, TasksShareNoExamples) {
  Estimate a;
  a.mean = 0.5;
  a.seed_variance = 4;
  a.seed_degrees = 2;
  a.example_variance = 1;
  const Estimate d = DifferenceOfTasks(a, a);
  EXPECT_EQ(d.mean, 0);
  EXPECT_EQ(d.seed_variance, 8);
  EXPECT_EQ(d.seed_degrees, 4);
  EXPECT_EQ(d.example_variance, 2);
  EXPECT_EQ(d.example_degrees, kManyDegrees);
  a.example_degrees = 9;
  EXPECT_DOUBLE_EQ(DifferenceOfTasks(a, a).example_degrees, 18);
}

TEST(ContrastTest, AConstantContrastHasAWidthAgainstThatOfAnotherTask) {
  Estimate constant;
  constant.constant_examples = 2000;
  EXPECT_NEAR(HalfWidth(DifferenceOfTasks(constant, constant), 0.95),
              std::sqrt(2.0) * (1 - std::pow(0.025, 1.0 / 2000)), 1e-12);
}

}  // namespace
}  // namespace lra
