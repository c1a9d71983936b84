#include "bench/effects_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/picture_test_util.h"
#include "eval/crossed_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::lra::testing::ExpectPictures;
using ::lra::testing::RunsOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

AblationResult OneFactor() {
  Ablation ablation;
  ablation.factors = {{"reweighting", {"none", "cosine", "slow_decay"}}};
  ablation.tasks.push_back(
      {"listops", *FindMetric(kAccuracy), {0, 1, 2}, {RunsOf('B'), RunsOf('A'), RunsOf('D')}});
  return AnalyseAblation(std::move(ablation), 0.95);
}

TEST(EffectsFigure, ShowsEachEffectWithItsIntervalInPoints) {
  const std::string program = EffectsProgram(OneFactor(), "effects");
  // A - B: 1.8333 +- 1.5217 points; Holm: 2 x 0.032 is not told apart.
  EXPECT_THAT(program, HasSubstr("$other << END\n1.83333333 0.311610"));
  EXPECT_THAT(program, HasSubstr("3.355056"));
  EXPECT_THAT(program, HasSubstr("'reweighting: cosine - none' 0, 'reweighting: slow\\_decay"));
  EXPECT_THAT(program, AllOf(HasSubstr("set output 'effects.svg'"),
                             HasSubstr("set xlabel \"points, with 95 % interval\"")));
}

TEST(EffectsFigure, LongLabelsWidenIt) {
  AblationResult result = OneFactor();
  const std::string narrow = EffectsProgram(result, "e");
  EXPECT_THAT(narrow, HasSubstr("svg size 712,"));  // 520 and 6 x 32 characters
  result.ablation.factors[0].levels[2] += "_of_more_characters";
  EXPECT_THAT(EffectsProgram(result, "e"), HasSubstr("svg size 826,"));
  result = OneFactor();
  for (int i = 0; i < 19; ++i) result.ablation.factors[0].levels[2] += "\u00fc";
  EXPECT_THAT(EffectsProgram(result, "e"), HasSubstr("svg size 826,")) << "characters, not bytes";
}

// The first label is at the top, its interval a line below; the second has two lines.
TEST(EffectsFigure, AColumnHasLabelsAboveIntervals) {
  AblationResult result = OneFactor();
  result.ablation.factors[0].levels[2] += " at lengths that no other level has";
  const std::string program = EffectsProgram(result, "e");
  EXPECT_THAT(program,
              HasSubstr("set label 'reweighting: cosine - none' at graph 0.01,first 0.00 "));
  EXPECT_THAT(program, HasSubstr("set label 'reweighting: slow_decay at lengths that no'.\"\\n\"."
                                 "'other level has - none' at graph 0.01,first 2.00 "));
  EXPECT_THAT(program, HasSubstr(" 0 0.85\n"));
  EXPECT_THAT(program, HasSubstr(" 1 3.85\n"));
}

TEST(EffectsFigure, IsDrawn) {
  const TestFolder folder;
  const auto drawn = DrawEffects({OneFactor()}, folder.File("effects"));
  if (drawn.status().code() == absl::StatusCode::kFailedPrecondition)
    GTEST_SKIP() << drawn.status();
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  ASSERT_THAT(*drawn, ElementsAre(folder.File("effects-1")));
  ExpectPictures(drawn->front());
}

TEST(EffectsFigure, WithoutGnuplotTheProgramIsThere) {
  const TestFolder folder;
  const auto drawn = DrawEffects({OneFactor()}, folder.File("figure"), "no-such-gnuplot");
  EXPECT_EQ(drawn.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(drawn.status().message()), HasSubstr("install gnuplot"));
  EXPECT_TRUE(FileExists(folder.File("figure-1.gp")));
}

TEST(EffectsFigure, ADesignOfWhichNothingIsKnownHasNone) {
  AblationResult result = OneFactor();
  for (AblationEffect& effect : result.effects) effect.estimate.reset();
  const TestFolder folder;
  const auto drawn = DrawEffects({result}, folder.File("figure"));
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_THAT(*drawn, IsEmpty());
}

}  // namespace
}  // namespace lra
