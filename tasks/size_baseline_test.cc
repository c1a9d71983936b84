#include "tasks/size_baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "datasets/data_test_util.h"
#include "datasets/dataset.h"
#include "datasets/png.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const double kByteNats = 8 * std::log(2.0);

// The scores of `test` after the training examples.
absl::StatusOr<TokenScores> Score(const BaselineMethod& method, const TaskSpec& spec,
                                  const std::vector<EncodedExample>& train,
                                  const std::vector<EncodedExample>& test) {
  const TestFolder folder;
  std::vector<ExtraColumn> columns;
  if (!test[0].extra.empty()) columns.push_back(PromptColumn());
  WriteTestData(folder.File("data"), spec, {{"train", train}, {"validation", test}, {"test", test}},
                1 << 20, columns);
  DataView view;
  view.set_target(DataView::NEXT);
  const Dataset data = *Dataset::Open(folder.File("data"), {});
  const SplitView fitted = *SplitView::Create(data, "train", view);
  const SplitView asked = *SplitView::Create(data, "test", view);
  const std::string why_not = method.WhyNot(asked.spec());
  if (!why_not.empty()) return absl::FailedPreconditionError(why_not);
  const auto scores = method.ScoreTokens({fitted, asked, {&asked}}, {});
  if (!scores.ok()) return scores.status();
  return scores->at(0);
}

TaskSpec TextSpec() {
  TaskSpec spec = SmallSpec(/*vocabulary_size=*/256);
  spec.clear_close_bracket_id();
  spec.set_max_length_tokens(200);
  return spec;
}

// A block of fixed codes: 3 bits, 8 for each byte below 144, 7 for the end.
TEST(GzipBaseline, BytesThatAreNewByHand) {
  const auto scores = Score(*MakeGzipBaseline(), TextSpec(), {{{9}, {}, 0}},
                            {{{100}, {}, 0}, {{100, 101}, {}, 0}, {{9, 8, 7, 6, 5}, {}, 0}});
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_THAT(scores->targets, ElementsAre(1, 2, 5));
  EXPECT_THAT(scores->correct, ElementsAre(0, 0, 0));
  EXPECT_DOUBLE_EQ(scores->nats[0], 3 * kByteNats);  // 18 bits
  EXPECT_DOUBLE_EQ(scores->nats[1], 4 * kByteNats);  // 26 bits
  EXPECT_DOUBLE_EQ(scores->nats[2], 7 * kByteNats);  // 50 bits
}

TEST(GzipBaseline, WhatTrainingHadIsShort) {
  std::vector<uint16_t> text;
  for (int i = 0; i < 150; ++i)
    text.push_back(static_cast<uint16_t>(1 + (i * i * 7 + 3 * i) % 251));
  const auto seen =
      Score(*MakeGzipBaseline(), TextSpec(), {{text, {}, 0}, {{1, 2, 3}, {}, 0}}, {{text, {}, 0}});
  const auto unseen = Score(*MakeGzipBaseline(), TextSpec(), {{{1, 2, 3}, {}, 0}}, {{text, {}, 0}});
  ASSERT_TRUE(seen.ok() && unseen.ok());
  EXPECT_LE(seen->nats[0], 6 * kByteNats);
  EXPECT_GT(unseen->nats[0], 100 * kByteNats);
}

// What is given costs nothing, and may be pointed to.
TEST(GzipBaseline, WhatIsGivenIsADictionary) {
  std::vector<uint16_t> text;
  for (uint16_t i = 0; i < 60; ++i) text.push_back(static_cast<uint16_t>(20 + 3 * (i % 30)));
  const auto scores =
      Score(*MakeGzipBaseline(), TextSpec(), {{text, {}, 0, {30}}}, {{text, {}, 0, {30}}});
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_THAT(scores->targets, ElementsAre(30));
  EXPECT_LT(scores->nats[0], 6 * kByteNats);
}

TEST(GzipBaseline, PacksBytesOnly) {
  TaskSpec spec = TextSpec();
  spec.set_vocabulary_size(300);
  const auto scores = Score(*MakeGzipBaseline(), spec, {{{9}, {}, 0}}, {{{9}, {}, 0}});
  EXPECT_THAT(std::string(scores.status().message()), HasSubstr("there are 299 ids"));
}

TaskSpec PictureSpec() {
  TaskSpec spec;
  spec.set_name("pictures");
  spec.set_version(1);
  spec.set_content(TaskSpec::GREY_IMAGE);
  spec.set_vocabulary_size(256);
  spec.set_image_side_pixels(2);
  spec.set_max_length_tokens(4);
  spec.set_classes(2);
  return spec;
}

TEST(PngBaseline, IsTheSizeOfTheFile) {
  const auto scores = Score(*MakePngBaseline(), PictureSpec(), {{{1, 1, 1, 1}, {}, 0}},
                            {{{10, 20, 30, 40}, {}, 0}});
  ASSERT_TRUE(scores.ok()) << scores.status();
  const std::vector<uint8_t> pixels = {10, 20, 30, 40};
  EXPECT_DOUBLE_EQ(scores->nats[0],
                   kByteNats * static_cast<double>(EncodePng(pixels, 2, 2, 1)->size()));
  EXPECT_THAT(scores->targets, ElementsAre(4));
}

TEST(PngBaseline, WhatIsGivenIsPackedAsWell) {
  const auto scores = Score(*MakePngBaseline(), PictureSpec(), {{{1, 1, 1, 1}, {}, 0, {2}}},
                            {{{10, 20, 30, 40}, {}, 0, {2}}});
  ASSERT_TRUE(scores.ok()) << scores.status();
  const std::vector<uint8_t> pixels = {10, 20, 30, 40};
  EXPECT_DOUBLE_EQ(scores->nats[0],
                   kByteNats * static_cast<double>(EncodePng(pixels, 2, 2, 1)->size()));
  EXPECT_THAT(scores->targets, ElementsAre(2));
}

TEST(PngBaseline, PacksPicturesOnly) {
  const auto scores = Score(*MakePngBaseline(), TextSpec(), {{{9}, {}, 0}}, {{{9}, {}, 0}});
  EXPECT_THAT(std::string(scores.status().message()), HasSubstr("these are no pictures"));
}

}  // namespace
}  // namespace lra
