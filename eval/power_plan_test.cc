#include "eval/power_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace lra {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

PowerRequest Golden() {
  PowerRequest request;
  request.examples = 2000;
  request.seeds = 5;
  request.difference = 2;
  return request;
}

TEST(PowerPlanTest, GoldenPlanAsTextAndAsJson) {
  const auto plan = PlanPower(Golden());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_NEAR(plan->power.value(), 0.67999231, 5e-9);
  EXPECT_NEAR(plan->smallest_difference.value(), 0.02303419, 5e-9);
  EXPECT_THAT(WritePowerPlan(*plan),
              AllOf(HasSubstr("5 seeds a row tell 2 points from 0 with 68.0 %."),
                    HasSubstr("seen with 80 % by 5 seeds: 2.3 points."),
                    HasSubstr("Without end of seeds: 1.4 points.")));
  const auto json = nlohmann::json::parse(WritePowerPlanJson(*plan));
  EXPECT_NEAR(json["power"], 0.67999231, 5e-9);
  EXPECT_EQ(json["seeds_needed"], *plan->seeds_needed);
}

TEST(PowerPlanTest, OneOfSeedsAndDifferenceIsEnough) {
  PowerRequest request = Golden();
  request.difference.reset();
  const auto by_seeds = PlanPower(request);
  ASSERT_TRUE(by_seeds.ok());
  EXPECT_FALSE(by_seeds->power.has_value());
  EXPECT_FALSE(by_seeds->seeds_needed.has_value());
  request = Golden();
  request.seeds.reset();
  request.difference = 1;
  const auto by_difference = PlanPower(request);
  ASSERT_TRUE(by_difference.ok());
  EXPECT_THAT(WritePowerPlan(*by_difference),
              HasSubstr("Seeds a row that see 1 point with 80 %: no number; the examples are too"));
}

// Ten comparisons at 95 % are told apart as one at 99.5 % is.
TEST(PowerPlanTest, OneOfSeveralTestsNeedsMore) {
  PowerRequest family = Golden(), single = Golden();
  family.tests = 10;
  single.confidence = 0.995;
  const auto corrected = PlanPower(family), strict = PlanPower(single), plain = PlanPower(Golden());
  ASSERT_TRUE(corrected.ok()) << corrected.status();
  EXPECT_DOUBLE_EQ(corrected->power.value(), strict->power.value());
  EXPECT_EQ(corrected->seeds_needed, strict->seeds_needed);
  EXPECT_GT(corrected->smallest_difference.value(), plain->smallest_difference.value());
  EXPECT_THAT(WritePowerPlan(*corrected), HasSubstr("Corrected as one of 10 tests (Holm).\n"));
  EXPECT_THAT(WritePowerPlan(*plain), ::testing::Not(HasSubstr("Corrected")));
  EXPECT_EQ(nlohmann::json::parse(WritePowerPlanJson(*corrected))["tests"], 10);
}

// Differences of a metric on record are in its own unit, whatever their size.
TEST(PowerPlanTest, OtherMetricsKeepTheirUnit) {
  PowerRequest request = Golden();
  const auto points = PlanPower(request);
  request.like = points->design;
  request.metric = *FindMetric(kBitsPerToken);
  request.difference = 0.02;
  const auto bits = PlanPower(request);
  ASSERT_TRUE(bits.ok()) << bits.status();
  EXPECT_NEAR(bits->power.value(), 0.67999231, 5e-9);
  const std::string text = WritePowerPlan(*bits);
  EXPECT_THAT(text, AllOf(HasSubstr("5 seeds a row tell 0.02 bits/token from 0 with 68.0 %."),
                          HasSubstr("seen with 80 % by 5 seeds: 0.023 bits/token."),
                          HasSubstr("0.01 bits/token of seeds, 0.22 of one example"),
                          ::testing::Not(HasSubstr("point"))));
  const auto json = nlohmann::json::parse(WritePowerPlanJson(*bits));
  EXPECT_EQ(json["unit"], "bits/token");
  EXPECT_EQ(json["difference"], 0.02);
  EXPECT_NEAR(json["smallest_difference"], 0.02303, 1e-5);
  // Bits may differ by more than one; shares may not.
  request.difference = 101;
  EXPECT_TRUE(PlanPower(request).ok());
  request.like->components.seeds = 4;
  EXPECT_GT(PlanPower(request)->smallest_difference.value(), 2);
  request.metric = *FindMetric(kAccuracy);
  request.difference = 50;
  EXPECT_FALSE(PlanPower(request)->smallest_difference.has_value());
}

TEST(PowerPlanTest, JsonIsInOneUnit) {
  const auto json = nlohmann::json::parse(WritePowerPlanJson(*PlanPower(Golden())));
  EXPECT_EQ(json["unit"], "points");
  EXPECT_NEAR(json["smallest_difference"], 2.303, 1e-3);
  EXPECT_LT(json["floor"], json["smallest_difference"]);
  EXPECT_GT(json["floor"], 1);
}

TEST(PowerPlanTest, WhereExamplesDoNotScatterSeedsWithoutEndSeeAll) {
  PowerRequest request = Golden();
  request.like = Design{.components = {.seeds = 1e-4, .rest = 0.1}, .examples = 2000};
  const auto plan = PlanPower(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->floor, 0);
  EXPECT_THAT(WritePowerPlan(*plan),
              HasSubstr("Without end of seeds: any difference, there is no floor.\n"));
  EXPECT_EQ(nlohmann::json::parse(WritePowerPlanJson(*plan))["floor"], 0);
}

TEST(PowerPlanTest, RowsThatDoNotScatterAreRefused) {
  PowerRequest request = Golden();
  request.like = Design{.examples = 2000};
  const absl::Status status = PlanPower(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("the same for all seeds and examples"), HasSubstr("--seed-sd")));
}

TEST(PowerPlanTest, ErrorsNameFlagValueAndCure) {
  const auto refusal = [](void (*change)(PowerRequest*)) {
    PowerRequest request = Golden();
    change(&request);
    const absl::Status status = PlanPower(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](PowerRequest* r) { r->examples.reset(); }),
              HasSubstr("--examples is miss"));
  EXPECT_THAT(refusal([](PowerRequest* r) { r->seeds = 1; }),
              HasSubstr("--seeds 1: must be at le"));
  EXPECT_THAT(refusal([](PowerRequest* r) { r->power_percent = 100; }), HasSubstr("--power 100"));
  EXPECT_THAT(refusal([](PowerRequest* r) { r->tests = 0; }), HasSubstr("--tests 0: must be at"));
  EXPECT_THAT(refusal([](PowerRequest* r) { r->difference = 0; }), HasSubstr("--difference 0"));
  EXPECT_THAT(refusal([](PowerRequest* r) {
                r->seeds.reset();
                r->difference.reset();
              }),
              HasSubstr("give --seeds"));
}

}  // namespace
}  // namespace lra
