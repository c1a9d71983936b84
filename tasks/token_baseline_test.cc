#include "tasks/token_baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "datasets/data_test_util.h"
#include "datasets/dataset.h"
#include "datasets/split_view.h"
#include "lra/folder_test_util.h"
#include "tasks/baseline.h"
#include "tasks/kneser_ney.h"

namespace lra {
namespace {

using ::testing::ElementsAre;

class TokenBaselineTest : public testing::Test {
 protected:
  TokenBaselineTest() {
    TaskSpec spec = SmallSpec(/*vocabulary_size=*/4);
    spec.clear_close_bracket_id();
    WriteTestData(folder_.File("data"), spec,
                  {{"train", {{{1, 2, 1, 2, 3}, {}, 0}, {{2, 1}, {}, 1}}},
                   {"validation", {{{1}, {}, 0}}},
                   {"test", {{{1, 2}, {}, 0}, {{3}, {}, 2}}}});
    view_.set_target(DataView::NEXT);
    data_ = *Dataset::Open(folder_.File("data"), {});
  }

  SplitView Split(const std::string& name) { return *SplitView::Create(data_, name, view_); }

  // The scores of the test split.
  TokenScores Score(const std::string& name, bool is_image = false) {
    const SplitView train = Split("train"), validation = Split("validation"), test = Split("test");
    const std::vector<const SplitView*> scored = {&test};
    const auto all =
        RunBaselines(MakeTokenBaselines(is_image), train, validation, scored, {.all = true});
    EXPECT_TRUE(all.ok()) << all.status();
    for (const BaselinePrediction& one : *all) {
      EXPECT_TRUE(one.logits.empty());
      if (one.facts.name == name) return one.token_scores.at(0);
    }
    return {};
  }

  TestFolder folder_;
  DataView view_;
  Dataset data_;
};

// Tests guess 1 and 2 of one example, and 3 of another. Training tokens: 1 three times, 2 three
// times, 3 once; counts begin at one for each of four ids.
TEST_F(TokenBaselineTest, ScoresByHand) {
  const auto nats = [](double p) { return testing::DoubleNear(-std::log(p), 1e-12); };
  EXPECT_THAT(Score("uniform").nats, ElementsAre(nats(1.0 / 9), nats(1.0 / 3)));
  const TokenScores unigram = Score("unigram");
  EXPECT_THAT(unigram.nats, ElementsAre(nats(4.0 / 11 * 4 / 11), nats(2.0 / 11)));
  EXPECT_THAT(unigram.targets, ElementsAre(2, 1));
  EXPECT_THAT(unigram.correct, ElementsAre(1, 0));  // 1 and 2 are alike, so 1 is guessed
  // Texts begin with 1 once and with 2 once; 2 follows 1 twice of twice.
  const TokenScores bigram = Score("bigram");
  EXPECT_THAT(bigram.nats,
              ElementsAre(nats((1 + 4.0 / 11) / 3 * (2 + 4.0 / 11) / 3), nats(2.0 / 11 / 3)));
  EXPECT_THAT(bigram.correct, ElementsAre(2, 0));
}

// Texts as long as each other would be images: the first token is 1 once and 2 once, the second 2
// once and 1 once.
TEST_F(TokenBaselineTest, ByPlaceByHand) {
  const auto nats = [](double p) { return testing::DoubleNear(-std::log(p), 1e-12); };
  EXPECT_THAT(Score("pixel_place", /*is_image=*/true).nats,
              ElementsAre(nats((1 + 4.0 / 11) / 3 * (1 + 4.0 / 11) / 3), nats(2.0 / 11 / 3)));
}

// Each text is longer than its context, so 3 behind 1 2 1 2 is sure but for the smoothing.
TEST_F(TokenBaselineTest, NgramsAreThoseOfTheModel) {
  KneserNey model(5, 4, /*zero_is_token=*/false);
  model.Count(std::vector<int32_t>{1, 2, 1, 2, 3});
  model.Count(std::vector<int32_t>{2, 1});
  model.Fit();
  const std::vector<int32_t> first = {1, 2}, second = {3};
  const TokenScores scores = Score("ngram");
  EXPECT_NEAR(scores.nats[0], -std::log(model.P(first, 0) * model.P(first, 1)), 1e-12);
  EXPECT_NEAR(scores.nats[1], -std::log(model.P(second, 0)), 1e-12);
  EXPECT_EQ(scores.correct[0], (model.Best(first, 0) == 1) + (model.Best(first, 1) == 2));
}

}  // namespace
}  // namespace lra
