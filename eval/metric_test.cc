#include "eval/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "eval/axis_title.h"
#include "eval/curve_values.h"
#include "eval/error_rate_test_util.h"
#include "eval/score_text.h"
#include "eval/sequences.h"

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
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

// All sums that there are.
Sums AllSums() {
  Sums sums = MakeSums(30, 100, 55.5, 100);
  (*sums.mutable_counts())[kSequences] = 20;
  (*sums.mutable_counts())[kExactSequences] = 5;
  return sums;
}

TEST(MetricTest, ValuesByHand) {
  // Four tokens, each one of eight equally likely ones: three bits each.
  const Sums sums = MakeSums(1, 4, 4 * std::log(8.0), 4);
  EXPECT_EQ(Named(kAccuracy).Value(sums), 0.25);
  EXPECT_NEAR(Named(kNats).Value(sums), std::log(8.0), 1e-15);
  EXPECT_NEAR(Named(kBitsPerToken).Value(sums), 3, 1e-15);
  EXPECT_NEAR(Named("perplexity").Value(sums), 8, 1e-14);
  EXPECT_TRUE(Named(kAccuracy).Better(0.3, 0.2));
  EXPECT_FALSE(Named(kAccuracy).Better(0.2, 0.3));
  EXPECT_FALSE(Named(kAccuracy).Better(0.2, 0.2));
  for (const char* name : {kNats, kBitsPerToken, "perplexity", kErrorRate}) {
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
    Sums sums = AllSums();
    for (const std::string& needed : metric.traits().sums) EXPECT_TRUE(HasSum(sums, needed));
    const double value = metric.Value(sums);
    for (auto& [of_sum, count] : *sums.mutable_counts()) count *= 2;
    for (auto& [of_sum, total] : *sums.mutable_totals()) total *= 2;
    EXPECT_DOUBLE_EQ(metric.Value(sums), value) << "twice the same is no other value";
    EXPECT_EQ(metric.RunInterval(sums, 0.95).has_value(), metric.traits().is_proportion);
    if (metric.traits().is_proportion) {
      EXPECT_LT(metric.RunInterval(sums, 0.95)->low, value);
      EXPECT_GT(metric.RunInterval(sums, 0.95)->high, value);
    }
  }
}

TEST(MetricTest, AProportionHasTheExactIntervalOfARun) {
  const Sums run = MakeSums(690, 2000, 1);
  const Interval exact = ClopperPearson(690, 2000, 0.95);
  EXPECT_EQ(Named(kAccuracy).RunInterval(run, 0.95)->low, exact.low);
  EXPECT_EQ(Named(kAccuracy).RunInterval(run, 0.95)->high, exact.high);
  // The error rate's interval is the mirrored one, since it is the same fact.
  EXPECT_NEAR(Named(kErrorRate).RunInterval(run, 0.95)->low, 1 - exact.high, 1e-9);
}

// Three examples with one label each: 1 and 0 right, 0.5 nats and so on.
ExampleSums ThreeExamples() {
  ExampleSums sums;
  sums.counts = {{kTargets, {1, 1, 1}}, {kCorrect, {1, 0, 1}}};
  sums.totals = {{kNats, {0.5, 2, 0.25}}};
  return sums;
}

TEST(MetricTest, ValuesOfExamplesHaveTheRunsValueAsTheirMean) {
  EXPECT_THAT(*Named(kAccuracy).ValuesOf(ThreeExamples()), ElementsAre(1, 0, 1));
  EXPECT_THAT(*Named(kErrorRate).ValuesOf(ThreeExamples()), ElementsAre(0, 1, 0));
  EXPECT_THAT(*Named(kNats).ValuesOf(ThreeExamples()), ElementsAre(0.5, 2, 0.25));
}

// Nats of three examples: 0.5 of one target, 2 of four and 0.25 of two.
TEST(MetricTest, AQuotientOfSumsIsLinearised) {
  ExampleSums sums = ThreeExamples();
  sums.counts[kTargets] = {1, 4, 2};
  const double r = 2.75 / 7, weight = 3.0 / 7;
  EXPECT_DOUBLE_EQ(Named(kNats).Value(sums.Total()), r) << "no mean of the examples' means";
  EXPECT_THAT(*Named(kNats).ValuesOf(sums),
              ElementsAre(DoubleNear(r + weight * (0.5 - r), 1e-15),
                          DoubleNear(r + weight * (2 - 4 * r), 1e-15),
                          DoubleNear(r + weight * (0.25 - 2 * r), 1e-15)));
}

// Tokens of probability 1/2 and of 1/8: e to the mean of their nats is 4, not (2 + 8) / 2. One text
// of one token and one of three: 2, and the cube root of 8 * 8 * 2.
TEST(MetricTest, PerplexityIsOfAllTokensAndLinearised) {
  const Metric& perplexity = Named("perplexity");
  EXPECT_NEAR(perplexity.Value(MakeSums(0, 2, std::log(2.0) + std::log(8.0), 2)), 4, 1e-14);
  EXPECT_EQ(perplexity.Heading("text"), "text (perplexity, lower is better)");
  EXPECT_EQ(perplexity.WithinRange({0.5, 3}).low, 1);
  ExampleSums sums;
  sums.counts = {{kTargets, {1, 3}}, {kTokens, {1, 3}}};
  sums.totals = {{kNats, {std::log(2.0), std::log(128.0)}}};
  EXPECT_NEAR(perplexity.Value(sums.Total()), 4, 1e-14);  // the fourth root of 256
  const double ln4 = std::log(4.0);
  EXPECT_THAT(*perplexity.ValuesOf(sums),
              ElementsAre(DoubleNear(4 * (1 + 0.5 * (std::log(2.0) - ln4)), 1e-14),
                          DoubleNear(4 * (1 + 0.5 * (std::log(128.0) - 3 * ln4)), 1e-14)));
}

TEST(MetricTest, AQuotientOfOtherSumsHasNoValuesOfExamples) {
  ExampleSums sums = ThreeExamples();
  sums.counts[kTokens] = {1, 4, 2};
  EXPECT_FALSE(Named(kBitsPerToken).ValuesOf(sums).has_value());
  sums.counts[kTargets] = {1, 4, 2};
  EXPECT_FALSE(Named(kAccuracy).ValuesOf(sums).has_value());
  EXPECT_FALSE(Named(kAccuracy).ValuesOf(ExampleSums()).has_value());
}

// One of one token is right, two of four and none of two.
TEST(MetricTest, AShareOfTokensIsAMeanAndNoProportionOfExamples) {
  ExampleSums sums;
  sums.counts = {{kTargets, {1, 4, 2}}, {kTokens, {1, 4, 2}}, {kCorrect, {1, 2, 0}}};
  const Metric& share = Named("token_accuracy");
  EXPECT_DOUBLE_EQ(share.Value(sums.Total()), 3.0 / 7);
  EXPECT_EQ(share.Evidence(sums.Total()), "3 of 7 tokens");
  EXPECT_FALSE(share.RunInterval(sums.Total(), 0.95).has_value());
  const double r = 3.0 / 7, weight = 3.0 / 7;
  EXPECT_THAT(*share.ValuesOf(sums), ElementsAre(DoubleNear(r + weight * (1 - r), 1e-15),
                                                 DoubleNear(r + weight * (2 - 4 * r), 1e-15),
                                                 DoubleNear(r + weight * (0 - 2 * r), 1e-15)));
}

// Sequences of one, four, two and two tokens: all are right, three, all, none.
ExampleSums FourSequences() {
  ExampleSums sums;
  sums.counts = {{kTargets, {1, 4, 2, 2}}, {kTokens, {1, 4, 2, 2}}, {kCorrect, {1, 3, 2, 0}}};
  CountSequences(&sums);
  return sums;
}

TEST(MetricTest, ASequenceIsRightAsAWhole) {
  const ExampleSums sums = FourSequences();
  EXPECT_THAT(sums.counts.at(kSequences), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(sums.counts.at(kExactSequences), ElementsAre(1, 0, 1, 0));
  const Metric& sequences = Named(kSequenceAccuracy);
  const Sums run = sums.Total();
  EXPECT_EQ(sequences.Value(run), 0.5);
  EXPECT_EQ(sequences.Evidence(run), "2 of 4");
  EXPECT_THAT(*sequences.ValuesOf(sums), ElementsAre(1, 0, 1, 0)) << "whatever their lengths";
  const Interval exact = ClopperPearson(2, 4, 0.95);
  EXPECT_EQ(sequences.RunInterval(run, 0.95)->low, exact.low) << "of sequences, not of tokens";
  EXPECT_EQ(sequences.RunInterval(run, 0.95)->high, exact.high);
  EXPECT_TRUE(sequences.Better(0.6, 0.5));
}

// What is given is all of the second example, which is neither right nor wrong.
TEST(MetricTest, WithoutATargetThereIsNoSequence) {
  ExampleSums sums;
  sums.counts = {{kTargets, {2, 0, 3}}, {kCorrect, {2, 0, 1}}};
  CountSequences(&sums);
  EXPECT_THAT(sums.counts.at(kSequences), ElementsAre(1, 0, 1));
  EXPECT_EQ(Named(kSequenceAccuracy).Value(sums.Total()), 0.5);
  EXPECT_FALSE(Named(kSequenceAccuracy).ValuesOf(sums).has_value());
}

TEST(MetricTest, SumsWithoutSequencesHaveNone) {
  const Sums older = MakeSums(6, 9, 3, 9);
  EXPECT_FALSE(HasSequences(older));
  EXPECT_TRUE(HasSequences(FourSequences().Total()));
  EXPECT_FALSE(Named(kSequenceAccuracy).RunInterval(older, 0.95).has_value());
  const absl::Status status =
      CheckSums(Named(kSequenceAccuracy), "what scored this run", NamesOf(older));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("sequence_accuracy needs exact and sequences"));
  SplitResult result;
  *result.mutable_sums() = older;
  EXPECT_FALSE(SequenceAccuracyOf(result).has_value()) << "absent, not 0";
  EXPECT_EQ(DescribeScore(Named(kNats), result), "0.333 nats (9 targets)");
  *result.mutable_sums() = FourSequences().Total();
  result.set_examples(4);
  EXPECT_EQ(SequenceAccuracyOf(result), 0.5);
  EXPECT_EQ(DescribeScore(Named(kNats), result),
            "0.000 nats (9 targets), sequence_accuracy 50.00 % (2 of 4)");
  EXPECT_EQ(*DescribeScoreWithInterval(Named("token_accuracy"), result, {"", "listops"}, 0.95),
            "66.67 % (6 of 9 tokens), sequence_accuracy 50.00 % "
            "(2 of 4; 95 % interval 6.76-93.24, this run)");
}

TEST(MetricTest, ANarrowIntervalHasTheDecimalsThatTellItsEndsApart) {
  SplitResult result;
  auto& counts = *result.mutable_sums()->mutable_counts();
  counts[kSequences] = 1000000;
  counts[kExactSequences] = 999600;
  result.set_examples(1000000);
  EXPECT_EQ(*DescribeScoreWithInterval(Named(kSequenceAccuracy), result, {"", "listops"}, 0.95),
            "99.9600 % (999,600 of 1,000,000; 95 % interval 99.9559-99.9638, this run)");
}

// 0.0027 +- 0.0052 nats begin at 0, as all nats do; a share of tokens also ends at 1.
TEST(MetricTest, IntervalsOfValuesEndWhereValuesDo) {
  for (const char* name : {kNats, kBitsPerToken}) {
    const Interval cut = Named(name).WithinRange({-0.0025, 0.0079});
    EXPECT_EQ(cut.low, 0) << name;
    EXPECT_EQ(cut.high, 0.0079) << name;
    EXPECT_EQ(Named(name).WithinRange({1.5, 8.5}).high, 8.5) << name;
  }
  const Interval share = Named("token_accuracy").WithinRange({-0.1, 1.1});
  EXPECT_EQ(share.low, 0);
  EXPECT_EQ(share.high, 1);
  const Interval unknown = Named(kNats).WithinRange({std::nan(""), std::nan("")});
  EXPECT_TRUE(std::isnan(unknown.low) && std::isnan(unknown.high));
}

TEST(MetricTest, DecimalsGiveTheHalfWidthTwoDigits) {
  const auto shown = [](const char* metric, double value, double half_width) {
    return Named(metric).Number(value, Named(metric).DecimalsFor(half_width));
  };
  EXPECT_EQ(shown(kAccuracy, 0.38512, 0.0228), "38.5");
  EXPECT_EQ(shown(kAccuracy, 0.38512, 0.0085), "38.51");
  EXPECT_EQ(shown(kAccuracy, 0.38512, 0.228), "39");
  EXPECT_EQ(shown(kAccuracy, 0.38512, 0), "38.51");
  EXPECT_EQ(shown(kNats, 1.23456, 0.012), "1.235");
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
  result.set_examples(2000);
  EXPECT_EQ(DescribeScore(Named(kAccuracy), result), "34.50 % (690 of 2,000)");
  EXPECT_EQ(*DescribeScoreWithInterval(Named(kAccuracy), result, {"", "listops"}, 0.95),
            "34.50 % (690 of 2,000; 95 % interval 32.42-36.63, this run)");
  result.set_split_examples(10000);
  EXPECT_EQ(*DescribeScoreWithInterval(Named(kNats), result, {"", "listops"}, 0.95),
            "1.250 nats (2,000 targets, the first of 10,000)");
}

// "nats in nats" and "bits_per_token in bits/byte" would say it twice.
TEST(MetricTest, AxisTitlesSayNothingTwice) {
  EXPECT_EQ(AxisTitle(Named(kAccuracy)), "accuracy in %");
  EXPECT_EQ(AxisTitle(Named("token_accuracy")), "token_accuracy in %");
  EXPECT_EQ(AxisTitle(Named(kSequenceAccuracy)), "sequence_accuracy in %");
  EXPECT_EQ(AxisTitle(Named(kErrorRate)), "error_rate in %");
  EXPECT_EQ(AxisTitle(Named(kNats)), "nats");
  EXPECT_EQ(AxisTitle(Named("perplexity")), "perplexity");
  EXPECT_EQ(AxisTitle(Named(kBitsPerToken)), "bits/token");
  TaskSpec spec;
  spec.set_content(TaskSpec::GREY_IMAGE);
  EXPECT_EQ(AxisTitle(**MetricOf(spec, kBitsPerToken)), "bits/dim");
  spec.set_content(TaskSpec::TEXT);
  spec.set_vocabulary_size(257);
  EXPECT_EQ(AxisTitle(**MetricOf(spec, kBitsPerToken)), "bits/byte");
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

TEST(MetricTest, BitsATokenAreCalledWhatPapersCallThem) {
  TaskSpec spec;
  spec.set_metric_name(kBitsPerToken);
  const auto unit = [&] { return (*MetricOf(spec))->traits().unit; };
  EXPECT_EQ(unit(), "bits/token");
  spec.set_content(TaskSpec::GREY_IMAGE);
  spec.set_vocabulary_size(256);
  EXPECT_EQ(unit(), "bits/dim");
  spec.set_content(TaskSpec::RGB_IMAGE);
  EXPECT_EQ(unit(), "bits/dim");
  spec.set_hides_tokens(true);
  EXPECT_EQ(unit(), "bits/token") << "the others are seen";
  spec.set_hides_tokens(false);
  spec.set_content(TaskSpec::TEXT);
  spec.set_vocabulary_size(257);
  EXPECT_EQ(unit(), "bits/byte");
  spec.set_vocabulary_size(258);
  EXPECT_EQ(unit(), "bits/token") << "an end mark is no byte";
  spec.set_vocabulary_size(257);
  spec.add_token_names("U+0061");
  EXPECT_EQ(unit(), "bits/token") << "a code point may be several bytes";
}

// Only the unit is another: name, value and direction are the metric's.
TEST(MetricTest, AnotherUnitIsNoOtherMetric) {
  TaskSpec pixels, ids;
  pixels.set_content(TaskSpec::GREY_IMAGE);
  const Metric& dims = **MetricOf(pixels, kBitsPerToken);
  EXPECT_EQ(dims.name(), kBitsPerToken);
  EXPECT_EQ(dims.Text(3.14159), "3.142 bits/dim");
  EXPECT_EQ(dims.Heading("digits"), "digits (bits_per_token in bits/dim, lower is better)");
  const Sums sums = MakeSums(1, 4, 4 * std::log(8.0), 4);
  EXPECT_EQ(dims.Value(sums), Named(kBitsPerToken).Value(sums));
  EXPECT_EQ(dims.Evidence(sums), Named(kBitsPerToken).Evidence(sums));
  EXPECT_EQ(*MetricOf(pixels, kBitsPerToken), &dims);
  EXPECT_EQ(*MetricOf(ids, kBitsPerToken), &Named(kBitsPerToken));
  EXPECT_EQ(*MetricOf(pixels, kNats), &Named(kNats));
  EXPECT_EQ(MetricOf(pixels, "elo").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(&MetricOfAll({&dims, &dims}), &dims);
  EXPECT_EQ(&MetricOfAll({&dims, &Named(kBitsPerToken)}), &Named(kBitsPerToken));
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
