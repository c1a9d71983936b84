#include "bench/curve_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "bench/picture_test_util.h"
#include "eval/crossed_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::lra::testing::ExpectPictures;
using ::lra::testing::RunsOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two points; validation was looked at in the second, and M of two heads was learned.
Curve RunWith(double accuracy, double loss, double learned) {
  Curve curve;
  CurvePoint* first = curve.Add();
  first->set_step(10);
  first->set_train_loss(loss + 1);
  CurvePoint* second = curve.Add();
  second->set_step(20);
  second->set_train_loss(loss);
  (*second->mutable_validation())["accuracy"] = accuracy;
  if (learned > 0) {
    (*second->mutable_learned())["layer0.head0.scale_tokens"] = learned - 1;
    (*second->mutable_learned())["layer0.head1.scale_tokens"] = learned + 1;
  }
  return curve;
}

AblationResult TwoCells() {
  Ablation ablation;
  ablation.factors = {{"M", {"longest", "learned"}}};
  ablation.tasks.push_back(
      {"listops", *FindMetric(kAccuracy), {0, 1, 2}, {RunsOf('B'), RunsOf('A')}});
  ablation.tasks[0].folders = {
      {{"a0", RunWith(0.25, 2, 0)}, {"a1", RunWith(0.35, 3, 0)}, {"a2", Curve()}},
      {{"b0", RunWith(0.5, 1, 70)}, {"b1", RunWith(0.5, 1, 80)}, {"b2", RunWith(0.8, 4, 90)}}};
  return AnalyseAblation(std::move(ablation), 0.95);
}

std::string ProgramOf(const AblationResult& result) {
  return DesignCurvesProgram(result.ablation, result.ablation.tasks[0], "a");
}

// Copying, say: from guessing to nearly nothing.
TEST(CurveFigureTest, LossesThatFallFarHaveALogarithmicAxis) {
  const auto command = [](const std::vector<double>& values) {
    FigureCurve curve = {"linear", {}, 0};
    for (const double value : values) curve.seeds[int64_t(curve.seeds.size())] = {value};
    return PlotOf({curve}, "curve").command;
  };
  EXPECT_THAT(command({2.4, 0.1, 0.001}), HasSubstr("set logscale y\nset format y '%g'\nplot "));
  EXPECT_THAT(command({2.4, 0.1, 0.03}), Not(HasSubstr("logscale")));
  EXPECT_THAT(command({2.4, 0.1, 0}), Not(HasSubstr("logscale")));
  EXPECT_THAT(command({-2.4, 0.1, 100}), Not(HasSubstr("logscale")));
}

TEST(CurveFigureTest, ShowsMeansOverSeedsWithTheLowestAndTheHighest) {
  const std::string program = ProgramOf(TwoCells());
  // The run without a curve, one that diverged, is left out of its cell's mean.
  EXPECT_THAT(program, HasSubstr("$panel1_1 << END\n20 30 25 35\nEND\n"));
  EXPECT_THAT(program, HasSubstr("$panel1_2 << END\n20 60 50 80\nEND\n"));
  EXPECT_THAT(program, HasSubstr("$panel2_1 << END\n10 3.5 3 4\n20 2.5 2 3\nEND\n"));
  EXPECT_THAT(program, HasSubstr("set title 'listops, validation: accuracy in %'"));
  EXPECT_THAT(program, HasSubstr("title 'M learned'"));
  EXPECT_THAT(program, HasSubstr("set multiplot layout 3,1"));
}

TEST(CurveFigureTest, TitlesNameTheUnitOnce) {
  AblationResult result = TwoCells();
  AblationTask& task = result.ablation.tasks[0];
  task.metric = *FindMetric(kNats);
  (*task.folders[0][0].curve.Mutable(1)->mutable_validation())[kNats] = 2;
  EXPECT_THAT(ProgramOf(result), HasSubstr("set title 'listops, validation: nats'\n"));
}

// Only one cell learns M: the mean over its heads, then over seeds.
TEST(CurveFigureTest, ShowsWhatIsLearned) {
  const std::string program = ProgramOf(TwoCells());
  EXPECT_THAT(program, HasSubstr("$panel3_1 << END\n20 80 70 90\nEND\n"));
  EXPECT_THAT(program, HasSubstr("set title 'listops, learned: scale_tokens'"));
  EXPECT_THAT(program, Not(HasSubstr("$panel3_2")));
  // In the line type that the cell has in the other panels.
  EXPECT_THAT(program, HasSubstr("$panel3_1 using 1:2 with linespoints lt 2 "));
  EXPECT_THAT(program, HasSubstr("$panel1_2 using 1:2 with linespoints lt 2 "));
}

// Panels share one legend, which has a cell that the last panel lacks.
TEST(CurveFigureTest, AColumnHasOneLegend) {
  const std::string program = ProgramOf(TwoCells());
  EXPECT_THAT(program, HasSubstr("set output 'a.pdf'"));
  EXPECT_THAT(program, HasSubstr("set xrange [0:20]\nset xtics 5\n"));
  EXPECT_THAT(program,
              HasSubstr("plot NaN with linespoints lt 1 ps 0.4 title 'M longest', NaN with "
                        "linespoints lt 2 ps 0.4 title 'M learned'\n"));
}

// Otherwise half a budget without labels would look like half the budget.
TEST(CurveFigureTest, StepsOfPretrainingCount) {
  AblationResult result = TwoCells();
  EXPECT_THAT(ProgramOf(result), HasSubstr("set xlabel 'step'\n"));
  for (AblationRun& run : result.ablation.tasks[0].folders[1]) run.pretrain_steps = 100;
  const std::string program = ProgramOf(result);
  EXPECT_THAT(program, HasSubstr("set xlabel 'step, those of pretraining counted'\n"));
  EXPECT_THAT(program, HasSubstr("$panel1_1 << END\n20 30 25 35\nEND\n"));
  EXPECT_THAT(program, HasSubstr("$panel1_2 << END\n120 60 50 80\nEND\n"));
  EXPECT_THAT(program, HasSubstr("$panel3_1 << END\n120 80 70 90\nEND\n"));
}

// A seed that stopped early must not make the mean jump.
TEST(CurveFigureTest, StepsThatARunLacksAreLeftOut) {
  AblationResult result = TwoCells();
  result.ablation.tasks[0].folders[0][0].curve.RemoveLast();
  EXPECT_THAT(ProgramOf(result), HasSubstr("$panel2_1 << END\n10 3.5 3 4\nEND\n"));
}

TEST(CurveFigureTest, WithoutCurvesThereIsNoFigure) {
  AblationResult result = TwoCells();
  result.ablation.tasks[0].folders.clear();
  EXPECT_THAT(ProgramOf(result), IsEmpty());
  const TestFolder folder;
  const auto drawn = DrawDesignCurves({result}, folder.File("curves"));
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_THAT(*drawn, IsEmpty());
}

TEST(CurveFigureTest, IsDrawn) {
  const TestFolder folder;
  const auto drawn = DrawDesignCurves({TwoCells()}, folder.File("curves"));
  if (drawn.status().code() == absl::StatusCode::kFailedPrecondition)
    GTEST_SKIP() << drawn.status();
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  ASSERT_THAT(*drawn, ElementsAre(folder.File("curves-1")));
  ExpectPictures(drawn->front());
}

}  // namespace
}  // namespace lra
