#include "report/thin_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(ThinCurveTest, PartsAreMeansAtTheirLastStep) {
  const ThinSeries thin = MeansOfParts({{10, 20, 30, 40, 50, 60}, {1, 3, 5, kNan, kNan, kNan}}, 3);
  EXPECT_THAT(thin.steps, ElementsAre(20, 40, 60));
  EXPECT_EQ(thin.values[0], 2);
  EXPECT_EQ(thin.values[1], 5);
  EXPECT_TRUE(std::isnan(thin.values[2]));
}

TEST(ThinCurveTest, ShortSeriesStayAsTheyAre) {
  const ThinSeries series = {{1, 2}, {0.5, 0.25}};
  EXPECT_EQ(MeansOfParts(series, 60).values, series.values);
  EXPECT_EQ(PointsOf(series, 60).steps, series.steps);
  EXPECT_THAT(MeansOfParts({}, 60).steps, SizeIs(0));
}

TEST(ThinCurveTest, PointsKeepBothEnds) {
  ThinSeries series;
  for (int i = 0; i <= 1000; ++i) {
    series.steps.push_back(i);
    series.values.push_back(i);
  }
  const ThinSeries thin = PointsOf(series, 5);
  EXPECT_THAT(thin.steps, ElementsAre(0, 250, 500, 750, 1000));
}

TEST(ThinCurveTest, LearnedNumbersStandByName) {
  const Metric& accuracy = **FindMetric("accuracy");
  RunRecord record;
  CurvePoint* point = record.add_curve();
  point->set_step(10);
  EXPECT_FALSE(CurveJson(record, accuracy).contains("learned"));
  (*point->mutable_learned())["layer0.head0.scale_tokens"] = 70;
  (*point->mutable_learned())["layer0.head1.scale_tokens"] = 64;
  EXPECT_EQ(CurveJson(record, accuracy)["learned"].dump(),
            R"({"scale_tokens":{"mean":{"step":[10],"value":[67.0]},)"
            R"("low":{"step":[10],"value":[64.0]},"high":{"step":[10],"value":[70.0]}}})");
}

TEST(ThinCurveTest, NumbersAreShort) {
  EXPECT_EQ(ShortNumber(0.123456789).dump(), "0.12346");
  EXPECT_EQ(ShortNumber(123456).dump(), "123460.0");
  EXPECT_TRUE(ShortNumber(kNan).is_null());
}

}  // namespace
}  // namespace lra
