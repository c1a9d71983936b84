#include "eval/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "eval/curve_values.h"
#include "eval/error_rate_test_util.h"
#include "eval/score_text.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Metric& Named(const std::string& name) { return **FindMetric(name); }

Sums MakeSums(int64_t correct, int64_t targets, double nats, int64_t tokens = 0) {
  Sums sums;
  (*sums.mutable_counts())[kCorrect] = correct;
  (*sums.mutable_counts())[kTargets] = targets;
  (*sums.mutable_totals())[kNats] = nats;
  if (tokens > 0) (*sums.mutable_counts())[kTokens] = tokens;
  return sums;
}

TEST(MetricTest, ValuesByHand) {
  // Four tokens, each one of eight equally likely ones: three bits each.
  const Sums sums = MakeSums(1, 4, 4 * std::log(8.0), 4);
  EXPECT_EQ(Named(kAccuracy).Value(sums), 0.25);
  EXPECT_NEAR(Named(kNats).Value(sums), std::log(8.0), 1e-15);
  EXPECT_NEAR(Named(kBitsPerToken).Value(sums), 3, 1e-15);
  EXPECT_TRUE(Named(kAccuracy).Better(0.3, 0.2));
  EXPECT_FALSE(Named(kAccuracy).Better(0.2, 0.3));
  EXPECT_FALSE(Named(kAccuracy).Better(0.2, 0.2));
  for (const char* name : {kNats, kBitsPerToken, kErrorRate}) {
    EXPECT_TRUE(Named(name).Better(0.2, 0.3)) << name;
    EXPECT_FALSE(Named(name).Better(0.3, 0.2)) << name;
    EXPECT_FALSE(Named(name).Better(0.2, 0.2)) << name;
  }
}

// What every metric owes, asked of the registry.
TEST(MetricTest, EveryMetricKeepsThePromises) {
  for (const std::string& name : MetricRegistry::Get().Names()) {
    SCOPED_TRACE(name);
    const Metric& metric = Named(name);
    EXPECT_TRUE(ScorerRegistry::Get().Has(metric.traits().scorer));
    EXPECT_FALSE(metric.traits().title.empty() || metric.traits().unit.empty());
    EXPECT_EQ(metric.Value(Sums()), 0);
    Sums sums = MakeSums(30, 100, 55.5, 100);
    for (const std::string& needed : metric.traits().sums) EXPECT_TRUE(HasSum(sums, needed));
    const double value = metric.Value(sums);
    MergeSums(MakeSums(30, 100, 55.5, 100), &sums);
    EXPECT_DOUBLE_EQ(metric.Value(sums), value) << "twice the same is no other value";
    EXPECT_EQ(metric.IntervalOf({&sums, 1}, 0.95).has_value(),
              !metric.traits().run_interval.empty());
    const std::vector<Sums> seeds = {MakeSums(30, 100, 55, 100), MakeSums(34, 100, 50, 100)};
    const std::optional<Interval> interval = metric.IntervalOf(seeds, 0.95);
    ASSERT_TRUE(interval.has_value());
    for (const Sums& seed : seeds) {
      EXPECT_LT(interval->low, metric.Value(seed));
      EXPECT_GT(interval->high, metric.Value(seed));
    }
  }
}

TEST(MetricTest, AccuracyHasTheExactIntervalOfARunAndStudentsOfSeveral) {
  const Metric& accuracy = Named(kAccuracy);
  const std::vector<Sums> runs = {MakeSums(690, 2000, 1), MakeSums(710, 2000, 1)};
  const Interval exact = ClopperPearson(690, 2000, 0.95);
  EXPECT_EQ(accuracy.IntervalOf({&runs[0], 1}, 0.95)->low, exact.low);
  EXPECT_EQ(accuracy.IntervalOf({&runs[0], 1}, 0.95)->high, exact.high);
  const Interval student = StudentT(std::vector<double>{0.345, 0.355}, 0.95);
  EXPECT_EQ(accuracy.IntervalOf(runs, 0.95)->low, student.low);
  EXPECT_EQ(accuracy.IntervalOf(runs, 0.95)->high, student.high);
}

// The error rate's verdict is the same, since it is the same fact.
TEST(MetricTest, ClearlyBetterTurnsWhereTheExactTestTurns) {
  const double baseline = 0.17;
  bool seen_false = false, seen_true = false;
  for (int64_t correct = 340; correct <= 460; ++correct) {
    const bool expected = BinomialUpperTail(correct, 2000, baseline) < 0.005;
    const Sums run = MakeSums(correct, 2000, 1);
    EXPECT_EQ(Named(kAccuracy).ClearlyBetter(run, baseline, 0.99), expected) << correct;
    EXPECT_EQ(Named(kErrorRate).ClearlyBetter(run, 1 - baseline, 0.99), expected) << correct;
    (expected ? seen_true : seen_false) = true;
  }
  EXPECT_TRUE(seen_false && seen_true);
  EXPECT_FALSE(Named(kNats).ClearlyBetter(MakeSums(1, 2, 1), 100, 0.99).has_value());
}

TEST(MetricTest, NumbersUnitsAndHeadings) {
  EXPECT_EQ(Named(kAccuracy).Number(0.3456), "34.56");
  EXPECT_EQ(Named(kAccuracy).Number(0.3456, 2), "34.5600");
  EXPECT_EQ(Named(kAccuracy).Text(0.3456, -1), "34.6 %");
  EXPECT_EQ(Named(kBitsPerToken).Text(3.14159), "3.142 bits/token");
  EXPECT_EQ(Named(kAccuracy).Heading("listops"), "listops");
  EXPECT_EQ(Named(kNats).Heading("listops"), "listops (nats, lower is better)");
  EXPECT_EQ(Named(kBitsPerToken).Heading("text"),
            "text (bits_per_token in bits/token, lower is better)");
  SplitResult result;
  *result.mutable_sums() = MakeSums(690, 2000, 2500);
  EXPECT_EQ(DescribeScore(Named(kAccuracy), result), "34.50 % (690 of 2,000)");
  EXPECT_EQ(DescribeScoreWithInterval(Named(kAccuracy), result, 0.95),
            "34.50 % (690 of 2,000; 95 % interval 32.42-36.63, sampling only)");
  result.set_split_examples(10000);
  EXPECT_EQ(DescribeScoreWithInterval(Named(kNats), result, 0.95),
            "1.250 nats (2,000 targets, the first of 10,000)");
}

TEST(MetricTest, ATaskThatNamesNoneIsJudgedByAccuracy) {
  TaskSpec spec;
  spec.set_name("mine");
  EXPECT_EQ((*MetricOf(spec))->name(), kAccuracy);
  spec.set_metric(TaskSpec::ACCURACY);
  EXPECT_EQ((*MetricOf(spec))->name(), kAccuracy);
  spec.set_metric_name(kNats);
  EXPECT_EQ((*MetricOf(spec))->name(), kNats);
  spec.set_metric_name("acuracy");
  EXPECT_THAT(std::string(MetricOf(spec).status().message()),
              AllOf(HasSubstr("task \"mine\""), HasSubstr("did you mean \"accuracy\"?"),
                    HasSubstr(kBitsPerToken)));
}

TEST(MetricTest, SumsThatAreMissingAreNamed) {
  EXPECT_TRUE(CheckSums(Named(kNats), "x", ScoredSums(Named(kNats))).ok());
  const absl::Status status =
      CheckSums(Named(kBitsPerToken), "training with labels", ScoredSums(Named(kBitsPerToken)));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("bits_per_token needs tokens"),
                    HasSubstr("training with labels counts correct, nats, targets only"),
                    HasSubstr("accuracy, error_rate, nats")));
}

TEST(CurveValuesTest, TheBestPointIsTheMetricsAndTheEarlierOfEquals) {
  RunRecord run;
  const double accuracies[] = {0.5, 0.7, 0.7, 0.6};
  for (int i = 0; i < 4; ++i) {
    CurvePoint& point = *run.add_curve();
    point.set_step(i);
    SetValues(std::vector<const Metric*>{&Named(kAccuracy), &Named(kErrorRate)},
              MakeSums(static_cast<int64_t>(10 * accuracies[i]), 10, 1),
              point.mutable_validation());
  }
  run.add_curve()->set_step(4);  // without a look at validation
  EXPECT_EQ(BestPoint(run, Named(kAccuracy))->step(), 1);
  EXPECT_EQ(BestPoint(run, Named(kErrorRate))->step(), 1);
  EXPECT_EQ(BestPoint(run, Named(kNats)), nullptr);
}

TEST(CurveValuesTest, OnlyWhatCanBeComputedIsSet) {
  MetricValues values;
  SetValues(std::vector<const Metric*>{&Named(kNats), &Named(kBitsPerToken)}, MakeSums(1, 2, 3),
            &values);
  EXPECT_EQ(FindValue(values, kNats), 1.5);
  EXPECT_FALSE(FindValue(values, kBitsPerToken).has_value());
}

}  // namespace
}  // namespace lra
