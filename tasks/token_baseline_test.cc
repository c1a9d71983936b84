#include "tasks/token_baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  TokenScores Score(const std::string& name, TokenBaselineKind kind = {}) {
    const SplitView train = Split("train"), validation = Split("validation"), test = Split("test");
    const std::vector<const SplitView*> scored = {&test};
    const auto all =
        RunBaselines(MakeTokenBaselines(kind), train, validation, scored, {.all = true});
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
  const TokenScores uniform = Score("uniform");
  EXPECT_THAT(uniform.nats, ElementsAre(nats(1.0 / 9), nats(1.0 / 3)));
  EXPECT_THAT(uniform.correct, ElementsAre(0, 0)) << "1, the lowest of equals, is a target";
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

// A table of a task's own: was there a 2 in front? Without one 1 is guessed once and 2 twice;
// behind it 1 twice, 2 once and 3 once.
TEST_F(TokenBaselineTest, ByAContextByHand) {
  const auto has_two = [](absl::Span<const int32_t> ids, size_t n) -> int64_t {
    const auto front = ids.first(n);
    return std::find(front.begin(), front.end(), 2) != front.end();
  };
  const auto method = MakeContextBaseline({.name = "after_two"}, {.contexts = 2, .of = has_two});
  EXPECT_EQ(method->facts().name, "after_two");
  const SplitView train = Split("train"), validation = Split("validation");
  const std::vector<const SplitView*> scored = {&train};
  const auto scores = method->ScoreTokens({train, validation, scored}, {});
  ASSERT_TRUE(scores.ok()) << scores.status();
  const double first = (1 + 4.0 / 11) / 4, two = (2 + 4.0 / 11) / 4;
  const double one_behind = (2 + 4.0 / 11) / 5, two_behind = (1 + 4.0 / 11) / 5;
  const auto nats = [](double p) { return testing::DoubleNear(-std::log(p), 1e-12); };
  EXPECT_THAT(scores->at(0).nats,
              ElementsAre(nats(first * two * one_behind * two_behind * (1 + 2.0 / 11) / 5),
                          nats(two * one_behind)));
  EXPECT_THAT(scores->at(0).correct, ElementsAre(2, 2));
}

// Texts as long as each other would be images: the first token is 1 once and 2 once, the second 2
// once and 1 once.
TEST_F(TokenBaselineTest, ByPlaceByHand) {
  const auto nats = [](double p) { return testing::DoubleNear(-std::log(p), 1e-12); };
  EXPECT_THAT(Score("pixel_place", {.is_image = true}).nats,
              ElementsAre(nats((1 + 4.0 / 11) / 3 * (1 + 4.0 / 11) / 3), nats(2.0 / 11 / 3)));
}

// Hidden tokens after counts of 1 2 1 2 3 and 2 1, those of the test's tokens being hidden as in
// evaluation. Every token of `3` is hidden, and nothing stands beside it.
TEST_F(TokenBaselineTest, BetweenTwoNeighboursByHand) {
  view_.set_target(DataView::MASKED);
  const auto nats = [](double p) { return testing::DoubleNear(-std::log(p), 1e-12); };
  const TokenScores unigram = Score("unigram", {.are_hidden = true});
  EXPECT_EQ(unigram.targets[1], 1);
  EXPECT_THAT(unigram.nats[1], nats(2.0 / 11));
  // Begins a text: 1 and 2 once each; ends one: 3 and 1 once each; both at once: none.
  const double left = 2.0 / 11 / 3, right = (1 + 2.0 / 11) / 3;
  EXPECT_THAT(Score("two_sided", {.are_hidden = true}).nats[1], nats((left + right) / 2));
}

class PictureBaselineTest : public testing::Test {
 protected:
  // The nats of a test picture of 2 x 2 pixels after one training picture.
  static double Nats(const std::string& name, TaskSpec::Content content,
                     std::vector<uint16_t> train, std::vector<uint16_t> test) {
    TaskSpec spec;
    spec.set_name("pictures");
    spec.set_version(1);
    spec.set_content(content);
    spec.set_vocabulary_size(256);
    spec.set_image_side_pixels(2);
    spec.set_max_length_tokens(static_cast<int32_t>(train.size()));
    spec.set_classes(2);
    const TestFolder folder;
    WriteTestData(
        folder.File("data"), spec,
        {{"train", {{train, {}, 0}}}, {"validation", {{train, {}, 0}}}, {"test", {{test, {}, 0}}}});
    DataView view;
    view.set_target(DataView::NEXT);
    const bool has_colours = content == TaskSpec::RGB_IMAGE;
    if (has_colours) view.set_grey(DataView::COLOURS);
    const Dataset data = *Dataset::Open(folder.File("data"), {});
    const auto split = [&](const char* of) { return *SplitView::Create(data, of, view); };
    const SplitView fitted = split("train"), validation = split("validation"),
                    asked = split("test");
    const auto all =
        RunBaselines(MakeTokenBaselines({.is_image = true, .has_colours = has_colours}), fitted,
                     validation, {&asked}, {});
    EXPECT_TRUE(all.ok()) << all.status();
    for (const BaselinePrediction& one : *all)
      if (one.facts.name == name) return one.token_scores.at(0).nats.at(0);
    return -1;
  }
};

// Left + up - corner: the last pixel of 10 20 / 30 40 is looked up at 40, where training saw 40 of
// 10 20 / 30 40; the others at 0 (the first), 10 and 10 (left, up).
TEST_F(PictureBaselineTest, SlopeByHand) {
  const auto p = [](double count, double total, double unigram) {
    return -std::log((count + unigram) / (total + 1));
  };
  const double seen = 2.0 / 260, unseen = 1.0 / 260;
  EXPECT_NEAR(Nats("slope", TaskSpec::GREY_IMAGE, {10, 20, 30, 40}, {10, 20, 30, 40}),
              p(1, 1, seen) + 2 * p(1, 2, seen) + p(1, 1, seen), 1e-9);
  // 12 22 / 30 39: 12 at 0, 22 and 30 at 12, 39 at 40.
  EXPECT_NEAR(Nats("slope", TaskSpec::GREY_IMAGE, {10, 20, 30, 40}, {12, 22, 30, 39}),
              p(0, 1, unseen) + p(0, 0, unseen) + p(0, 0, seen) + p(0, 1, unseen), 1e-9);
}

// Planes of 1 2 3 4, 5 6 7 8 and 9 10 11 12: tokens 1 5 9 2 6 10 ..., each after its own colour.
TEST_F(PictureBaselineTest, ChannelsByHand) {
  const std::vector<uint16_t> picture = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const double unigram = 2.0 / 268;
  // Three begin behind nothing; nine follow a value that was seen once.
  EXPECT_NEAR(Nats("channel_bigram", TaskSpec::RGB_IMAGE, picture, picture),
              -3 * std::log((1 + unigram) / 4) - 9 * std::log((1 + unigram) / 2), 1e-9);
}

// Copies that are cut to the part that is given are such data.
TEST(TokenBaselineLimitsTest, NothingToGuessGivesNoScore) {
  const TestFolder folder;
  TaskSpec spec = SmallSpec(/*vocabulary_size=*/4);
  spec.clear_close_bracket_id();
  const EncodedExample given{{1, 2, 3, 1}, {}, 0, {3}};
  WriteTestData(folder.File("data"), spec,
                {{"train", {given}}, {"validation", {given}}, {"test", {given, given}}}, 1 << 20,
                {PromptColumn()});
  const Dataset data = *Dataset::Open(folder.File("data"), {});
  const auto run = [&data](int32_t tokens) {
    DataView view;
    view.set_target(DataView::NEXT);
    view.set_max_length_tokens(tokens);
    const SplitView train = *SplitView::Create(data, "train", view);
    const SplitView test = *SplitView::Create(data, "test", view);
    return RunBaselines(MakeTokenBaselines(), train, test, {&test}, {}).status();
  };
  EXPECT_TRUE(run(4).ok()) << run(4);
  EXPECT_EQ(run(3).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(run(3).message(),
            "baseline uniform: split test leaves nothing to guess: all tokens of its 2 examples "
            "are given; raise view.max_length_tokens");
}

TEST(TokenBaselineLimitsTest, TablesOfTooManyIdsAreLeftOut) {
  const auto names = [](int vocabulary_size, DataView::Target target) {
    const TestFolder folder;
    TaskSpec spec = SmallSpec(vocabulary_size);
    spec.clear_close_bracket_id();
    const EncodedExample one{{1, 2, 1}, {}, 0};
    WriteTestData(folder.File("data"), spec,
                  {{"train", {one}}, {"validation", {one}}, {"test", {one}}});
    DataView view;
    view.set_target(target);
    const Dataset data = *Dataset::Open(folder.File("data"), {});
    const SplitView train = *SplitView::Create(data, "train", view);
    const SplitView test = *SplitView::Create(data, "test", view);
    const auto methods = MakeTokenBaselines({.are_hidden = target == DataView::MASKED});
    const auto all = RunBaselines(methods, train, test, {&test}, {.all = true});
    EXPECT_TRUE(all.ok()) << all.status();
    std::vector<std::string> found;
    for (const BaselinePrediction& method : *all) found.push_back(method.facts.name);
    return found;
  };
  EXPECT_THAT(names(100, DataView::NEXT),
              ElementsAre("uniform", "unigram", "bigram", "gzip", "ngram"));
  EXPECT_THAT(names(5000, DataView::NEXT), ElementsAre("uniform", "unigram", "ngram"));
  EXPECT_THAT(names(100, DataView::MASKED), ElementsAre("uniform", "unigram", "two_sided"));
  EXPECT_THAT(names(600, DataView::MASKED), ElementsAre("uniform", "unigram"));
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
