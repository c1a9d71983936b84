#include "eval/learned_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "eval/curve_plot.h"
#include "eval/metric.h"

namespace lra {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

CurvePoint* AddPoint(int64_t step, const std::map<std::string, double>& learned, RunRecord* run) {
  CurvePoint* const point = run->add_curve();
  point->set_step(step);
  point->set_train_loss(2);
  for (const auto& [name, value] : learned) (*point->mutable_learned())[name] = value;
  return point;
}

RunRecord TwoHeads() {
  RunRecord run;
  AddPoint(10, {{"layer0.head0.scale_tokens", 70}, {"layer0.head1.scale_tokens", 90}}, &run);
  AddPoint(15, {}, &run);  // validation was not looked at
  AddPoint(20,
           {{"layer0.head0.scale_tokens", 65},
            {"layer0.head1.scale_tokens", 105},
            {"layer1.head0.length_power", 0.5}},
           &run);
  return run;
}

TEST(LearnedCurvesTest, AreMeansAndExtremesOverLayersAndHeads) {
  const auto curves = LearnedCurves(TwoHeads().curve());
  ASSERT_THAT(curves, SizeIs(2));
  EXPECT_EQ(curves[0].name, "length_power");
  ASSERT_THAT(curves[0].points, SizeIs(1));
  EXPECT_EQ(curves[0].points[0].step, 20);
  EXPECT_EQ(curves[1].name, "scale_tokens");
  ASSERT_THAT(curves[1].points, SizeIs(2));
  EXPECT_EQ(curves[1].points[0].mean, 80);
  EXPECT_EQ(curves[1].points[1].mean, 85);
  EXPECT_EQ(curves[1].points[1].low, 65);
  EXPECT_EQ(curves[1].points[1].high, 105);
  EXPECT_THAT(LearnedCurves(Curve()), IsEmpty());
}

TEST(LearnedCurvesTest, AreDrawnWithTheRun) {
  const Metric& accuracy = **FindMetric(kAccuracy);
  const std::string picture = PlotRun(TwoHeads(), accuracy, 60, false);
  EXPECT_THAT(picture, HasSubstr("learned scale_tokens, over layers and heads"));
  EXPECT_THAT(picture, HasSubstr("learned length_power, over layers and heads"));
  RunRecord plain = TwoHeads();
  for (CurvePoint& point : *plain.mutable_curve()) point.clear_learned();
  EXPECT_THAT(PlotRun(plain, accuracy, 60, false), Not(HasSubstr("learned")));
}

}  // namespace
}  // namespace lra
