#include "bench/effects_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eval/crossed_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::lra::testing::RunsOf;
using ::testing::AllOf;
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
  const std::string program = EffectsProgram(OneFactor(), "effects.svg");
  // A - B: 1.8333 +- 1.5217 points; Holm: 2 x 0.032 is not told apart.
  EXPECT_THAT(program, HasSubstr("$other << END\n1.83333333 0.311610"));
  EXPECT_THAT(program, HasSubstr("3.355056"));
  EXPECT_THAT(program, HasSubstr("'reweighting: cosine - none' 0, 'reweighting: slow\\_decay"));
  EXPECT_THAT(program, AllOf(HasSubstr("set output \"effects.svg\""),
                             HasSubstr("set xlabel \"points, with 95 % interval\"")));
}

TEST(EffectsFigure, LongLabelsWidenIt) {
  AblationResult result = OneFactor();
  const std::string narrow = EffectsProgram(result, "e.svg");
  EXPECT_THAT(narrow, HasSubstr("svg size 712,"));  // 520 and 6 x 32 characters
  result.ablation.factors[0].levels[2] += "_of_more_characters";
  EXPECT_THAT(EffectsProgram(result, "e.svg"), HasSubstr("svg size 826,"));
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
