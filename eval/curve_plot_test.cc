#include "eval/curve_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_split.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n'); }

// The picture has 20 of the 28 columns, beside 8 of the axis, and 4 of the 6 rows. The line is a
// falling diagonal.
TEST(PlotCurves, DrawsALineMarksAndAxesInAscii) {
  const PlotSeries line{"train", {{0, 4}, {10, 1}}, ' '};
  const PlotSeries marks{"validation", {{0, 1}, {10, 4}}, 'o'};
  EXPECT_THAT(Lines(PlotCurves({line, marks},
                               {.title = "loss", .columns = 28, .rows = 6, .unicode = false})),
              ElementsAre("loss  . train  o validation",   //
                          "     4 |.....              o",  //
                          "       |     .....",            //
                          "     2 |          .....",       //
                          "     1 |o              .....",  //
                          "        0      step       10", ""));
}

// A character holds 2 x 4 dots, so corners of the picture are the braille dots 1 and 8.
TEST(PlotCurves, BrailleDotsAreThoseOfUnicode) {
  const PlotSeries line{"a", {{0, 1}, {0, 1}}, ' '};
  const std::string corner = PlotCurves({line, {"b", {{1, 0}}, 'x'}}, {.columns = 28, .rows = 6});
  EXPECT_THAT(corner, HasSubstr("│\u2801"));  // upper left: dot 1
  const PlotSeries end{"a", {{1, 0}}, ' '};
  const std::string other = PlotCurves({end, {"b", {{0, 1}}, 'x'}}, {.columns = 28, .rows = 6});
  EXPECT_THAT(other, HasSubstr("\u2880\n"));  // lower right: dot 8
}

TEST(PlotCurves, NumbersOfAnySizeFitTheAxis) {
  for (const auto& [low, high] : std::initializer_list<std::pair<double, double>>{
           {0.001304, 2}, {1.3041e-12, 2.7812e16}, {-123456, 0}}) {
    const PlotSeries line{"a", {{0, low}, {1, high}}, ' '};
    for (const std::string& row :
         Lines(PlotCurves({line}, {.columns = 28, .rows = 6, .unicode = false}))) {
      if (row.find('|') != std::string::npos) {
        EXPECT_EQ(row.find('|'), 7u) << row;
      }
    }
  }
  const PlotSeries large{"a", {{0, 0}, {1, 2.7812e16}}, ' '},
      small{"a", {{0, 0}, {1, 1.3041e-3}}, ' '};
  EXPECT_THAT(PlotCurves({large}, {.columns = 28, .rows = 6, .unicode = false}),
              HasSubstr("2.8e16 |"));
  EXPECT_THAT(PlotCurves({small}, {.columns = 28, .rows = 6, .unicode = false}),
              HasSubstr("0.0013 |"));
}

TEST(PlotCurves, LeavesOutWhatIsNotFiniteAndSaysWhenNothingIsLeft) {
  const PlotSeries bad{"a", {{1, NAN}, {2, INFINITY}}, ' '};
  EXPECT_EQ(PlotCurves({bad}, {.title = "loss"}), "loss: no points yet\n");
  const PlotSeries good{"a", {{1, NAN}, {2, 7}}, 'o'};
  const std::string text = PlotCurves({good}, {.title = "t", .columns = 40, .unicode = false});
  EXPECT_THAT(text, HasSubstr("     7 "));
  EXPECT_THAT(text, HasSubstr("step 2"));
}

TEST(PlotRun, HasLossAndAccuracyInPercent) {
  RunRecord record;
  for (int i = 1; i <= 3; ++i) {
    CurvePoint& point = *record.add_curve();
    point.set_step(1000 * i);
    point.set_train_loss(3 - i);
    (*point.mutable_train())[kAccuracy] = 0.25 * i;
  }
  (*record.mutable_curve(2)->mutable_validation())[kAccuracy] = 0.5;
  record.mutable_curve(2)->set_validation_loss(1);
  const std::string text = PlotRun(record, **FindMetric(kAccuracy), 60, false);
  EXPECT_THAT(text, HasSubstr("loss in nats  . train  o validation"));
  EXPECT_THAT(text, HasSubstr("accuracy in %  . train  o validation"));
  EXPECT_THAT(text, HasSubstr("    75 |"));
  EXPECT_THAT(text, HasSubstr("3,000"));
  for (const std::string& line : Lines(text)) EXPECT_LE(line.size(), 60u) << line;
}

}  // namespace
}  // namespace lra
