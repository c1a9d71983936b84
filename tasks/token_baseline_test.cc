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
  TokenScores Score(const std::string& name) {
    const SplitView train = Split("train"), validation = Split("validation"), test = Split("test");
    const std::vector<const SplitView*> scored = {&test};
    const auto all = RunBaselines(MakeTokenBaselines(), train, validation, scored, {});
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

}  // namespace
}  // namespace lra
