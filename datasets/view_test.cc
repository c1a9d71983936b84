// Tests which fields of a DataView apply to which data, and what the tasks' views make of stored
// examples.
#include "datasets/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "datasets/view_test_util.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ViewFieldsTest, AreThoseThatSaySomething) {
  DataView view;
  EXPECT_THAT(ViewFields(IdSpec(), view),
              ElementsAre("max_length_tokens", "brackets", "split", "end_mark", "pad_to"));
  TaskSpec no_brackets = IdSpec();
  no_brackets.set_close_bracket_id(0);
  EXPECT_THAT(ViewFields(no_brackets, view),
              ElementsAre("max_length_tokens", "split", "end_mark", "pad_to"));
  EXPECT_THAT(ViewFields(TextSpec(), view),
              ElementsAre("max_length_tokens", "split", "unit", "end_mark", "pad_to"));
  EXPECT_THAT(ViewFields(TextSpec(true), view),
              ElementsAre("max_length_tokens", "split", "unit", "end_mark", "literals", "pad_to"));
  EXPECT_THAT(ViewFields(ImageSpec(TaskSpec::GREY_IMAGE, 2), view),
              ElementsAre("max_length_tokens", "split", "pixels"));
  EXPECT_THAT(ViewFields(ImageSpec(TaskSpec::RGB_IMAGE, 2), view),
              ElementsAre("max_length_tokens", "split", "grey", "pixels"));
  view.set_unit(DataView::CODE_POINT);
  view.set_pixels(DataView::REAL);
  EXPECT_THAT(ViewFields(TextSpec(true), view),
              ElementsAre("max_length_tokens", "split", "unit", "end_mark", "min_code_point_count",
                          "literals", "pad_to"));
  EXPECT_THAT(ViewFields(ImageSpec(TaskSpec::GREY_IMAGE, 2), view),
              ElementsAre("max_length_tokens", "split", "pixels", "real_mean", "real_stddev"));
}

TEST(ResolveViewTest, FillsInDefaults) {
  const auto text = [](const TaskSpec& spec, DataView view = {}) {
    return Resolved(spec, view).ShortDebugString();
  };
  EXPECT_EQ(text(IdSpec()),
            "max_length_tokens: 8 brackets: CLOSE_ONLY split: OFFICIAL end_mark: false "
            "pad_to: LONGEST");
  EXPECT_EQ(text(TextSpec(true)),
            "max_length_tokens: 12 split: OFFICIAL unit: BYTE end_mark: false literals: RAW "
            "pad_to: LONGEST");
  EXPECT_EQ(text(ImageSpec(TaskSpec::RGB_IMAGE, 2)),
            "max_length_tokens: 4 split: OFFICIAL grey: TENSORFLOW pixels: IDS");
  DataView view;
  view.set_pixels(DataView::REAL);
  EXPECT_EQ(text(ImageSpec(TaskSpec::GREY_IMAGE, 2), view),
            "max_length_tokens: 4 split: OFFICIAL pixels: REAL real_mean: 0.5 real_stddev: 0.5");
  DataView points;
  points.set_unit(DataView::CODE_POINT);
  points.set_end_mark(true);  // room for a whole example and its mark
  EXPECT_EQ(text(TextSpec(), points),
            "max_length_tokens: 13 split: OFFICIAL unit: CODE_POINT end_mark: true "
            "min_code_point_count: 15 pad_to: LONGEST");
  points.set_max_length_tokens(5);  // fields that are set stay as they are
  points.set_min_code_point_count(2);
  EXPECT_EQ(text(TextSpec(), points),
            "max_length_tokens: 5 split: OFFICIAL unit: CODE_POINT end_mark: true "
            "min_code_point_count: 2 pad_to: LONGEST");
}

TEST(ResolveViewTest, AFieldThatSaysNothingIsRefusedByName) {
  const auto refused = [](const TaskSpec& spec, const std::string& field, auto set) {
    DataView view;
    set(&view);
    const absl::Status status = ResolveView(Stored(spec), view).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(absl::StrCat("view.", field, " is set")),
                      HasSubstr(absl::StrCat("task \"", spec.name(), "\"")),
                      HasSubstr("its fields are max_length_tokens, ")));
  };
  const TaskSpec grey = ImageSpec(TaskSpec::GREY_IMAGE, 2), text = TextSpec(), ids = IdSpec();
  refused(text, "brackets", [](auto* v) { v->set_brackets(DataView::CLOSE_ONLY); });
  refused(ids, "unit", [](auto* v) { v->set_unit(DataView::BYTE); });
  refused(grey, "end_mark", [](auto* v) { v->set_end_mark(false); });
  refused(ids, "unknown_id", [](auto* v) { v->set_unknown_id(true); });
  refused(text, "unknown_id", [](auto* v) {
    v->set_end_mark(true);
    v->set_unknown_id(true);
  });
  refused(text, "min_code_point_count", [](auto* v) { v->set_min_code_point_count(3); });
  refused(text, "literals", [](auto* v) { v->set_literals(DataView::RAW); });
  refused(grey, "grey", [](auto* v) { v->set_grey(DataView::PILLOW); });
  refused(text, "pixels", [](auto* v) { v->set_pixels(DataView::IDS); });
  refused(grey, "real_mean", [](auto* v) { v->set_real_mean(0); });
  refused(grey, "real_stddev", [](auto* v) {
    v->set_pixels(DataView::IDS);
    v->set_real_stddev(1);
  });
}

TEST(ResolveViewTest, ATargetOfTokensNeedsTokensThatAllMaySee) {
  DataView next;
  next.set_target(DataView::NEXT);
  EXPECT_THAT(ViewFields(IdSpec(), next), testing::Contains("target"));
  const auto refusal = [](const TaskSpec& spec, const DataView& view) {
    return std::string(ResolveView(Stored(spec), view).status().message());
  };
  EXPECT_EQ(refusal(IdSpec(), next), "");
  EXPECT_THAT(refusal(TextSpec(true), next), HasSubstr("pairs of texts"));
  DataView pixels = next;
  pixels.set_pixels(DataView::REAL);
  const TaskSpec grey = ImageSpec(TaskSpec::GREY_IMAGE, 2);
  EXPECT_THAT(refusal(grey, pixels), HasSubstr("view.pixels=REAL"));
  pixels.set_pixels(DataView::IDS);
  EXPECT_EQ(refusal(grey, pixels), "");
  pixels.set_zero_is_padding(true);
  EXPECT_THAT(refusal(grey, pixels), HasSubstr("zero_is_padding"));
}

TEST(ViewTransformTest, TokensToGuessAreAsManyClassesAsThereAreIds) {
  DataView next;
  next.set_target(DataView::NEXT);
  const TaskSpec text = Transform(TextSpec(), next).spec();
  EXPECT_TRUE(text.guesses_tokens());
  EXPECT_EQ(text.classes(), 257);
  EXPECT_EQ(text.metric_name(), "bits_per_token");
  // Data without labels names the metric of its tokens.
  TaskSpec unlabelled = IdSpec();
  unlabelled.set_classes(1);
  unlabelled.set_metric_name("nats");
  EXPECT_EQ(Transform(unlabelled, next).spec().metric_name(), "nats");
  next.set_target(DataView::LABEL);
  EXPECT_EQ(Transform(TextSpec(), next).spec().ShortDebugString(),
            Transform(TextSpec(), DataView()).spec().ShortDebugString());
}

TEST(ViewTransformTest, HiddenTokensHaveAnIdOfTheirOwnThatNobodyGuesses) {
  DataView masked;
  masked.set_target(DataView::MASKED);
  EXPECT_THAT(ViewFields(TextSpec(), masked), testing::Contains("masked_fraction"));
  EXPECT_FLOAT_EQ(Resolved(TextSpec(), masked).masked_fraction(), 0.15f);
  const TaskSpec text = Transform(TextSpec(), masked).spec();
  EXPECT_TRUE(text.guesses_tokens() && text.hides_tokens());
  EXPECT_EQ(text.classes(), 257);
  EXPECT_EQ(text.vocabulary_size(), 258);
  EXPECT_EQ(text.metric_name(), "bits_per_token");
}

// The tokens of an image in colours are three times its pixels, and it is not cut.
TEST(ResolveViewTest, ColoursMakeAnImageThreeTimesAsLong) {
  DataView view;
  view.set_grey(DataView::COLOURS);
  const TaskSpec spec = ImageSpec(TaskSpec::RGB_IMAGE, 2);
  EXPECT_EQ(Resolved(spec, view).max_length_tokens(), 12);
  view.set_max_length_tokens(4);
  EXPECT_THAT(std::string(ResolveView(Stored(spec), view).status().message()),
              HasSubstr("4 pixels of 3 tokens (view.grey=COLOURS), 12"));
}

// A field that says something under another value of its neighbour only: the error names the value.
TEST(ResolveViewTest, ARefusedFieldSaysWhatItNeeds) {
  const auto refusal = [](const TaskSpec& spec, const DataView& view) {
    return std::string(ResolveView(Stored(spec), view).status().message());
  };
  DataView black;
  black.set_pixels(DataView::IDS_PLUS_ONE);
  black.set_zero_is_padding(true);
  const TaskSpec grey = ImageSpec(TaskSpec::GREY_IMAGE, 2);
  EXPECT_THAT(refusal(grey, black), HasSubstr("under this view (it needs view.pixels=IDS); its"));
  DataView count;
  count.set_min_code_point_count(3);
  EXPECT_THAT(refusal(TextSpec(), count), HasSubstr("(it needs view.unit=CODE_POINT)"));
  DataView brackets;
  brackets.set_brackets(DataView::NONE);
  EXPECT_THAT(refusal(TextSpec(), brackets), HasSubstr("under this view; its fields"));
}

TEST(ResolveViewTest, ImagesAreNotCut) {
  for (const auto content : {TaskSpec::GREY_IMAGE, TaskSpec::RGB_IMAGE}) {
    DataView view;
    view.set_max_length_tokens(15);
    const absl::Status status = ResolveView(Stored(ImageSpec(content, 4)), view).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("view.max_length_tokens is 15, but an image of task \"pictures\" has 16 "
                          "pixels; images are not cut"));
    view.set_max_length_tokens(100);
    EXPECT_EQ(Transform(ImageSpec(content, 4), view).spec().max_length_tokens(), 16);
  }
}

TEST(ViewTest, BytesMoveUpByOne) {
  const ViewTransform transform = Transform(TextSpec(), {});
  EXPECT_EQ(Apply(transform, "ab"), (Ids{98, 99}));
  EXPECT_EQ(Apply(transform, std::string("\0\x7f\x80\xff", 4)), (Ids{1, 128, 129, 256}));
  EXPECT_EQ(transform.spec().vocabulary_size(), 257);
  EXPECT_EQ(transform.spec().max_length_tokens(), 12);
  EXPECT_FALSE(transform.spec().zero_is_token());
  EXPECT_FALSE(transform.NeedsVocabulary());
}

TEST(ViewTest, TheEndMarkComesLastAndCounts) {
  DataView view;
  view.set_end_mark(true);
  EXPECT_EQ(Apply(Transform(TextSpec(), view), "ab"), (Ids{98, 99, 257}));
  EXPECT_EQ(Transform(TextSpec(), view).spec().vocabulary_size(), 258);
  view.set_max_length_tokens(4);
  const ViewTransform cut = Transform(TextSpec(), view);
  EXPECT_EQ(Apply(cut, "abcdef"), (Ids{98, 99, 100, 257}));
  EXPECT_EQ(Apply(cut, "abc"), (Ids{98, 99, 100, 257}));
  EXPECT_EQ(cut.spec().max_length_tokens(), 4);

  const ViewTransform ids = Transform(IdSpec(), view);
  EXPECT_EQ(Apply(ids, {4, 1, 2, 5}), (Ids{4, 1, 2, 6}));
  EXPECT_EQ(ids.spec().vocabulary_size(), 7);
  EXPECT_EQ(ids.spec().token_names(6), "<eos>");
  view.set_unknown_id(true);  // after all others, and no example has it
  const ViewTransform unknown = Transform(IdSpec(), view);
  EXPECT_EQ(Apply(unknown, {4, 1, 2, 5}), (Ids{4, 1, 2, 6}));
  EXPECT_EQ(unknown.spec().vocabulary_size(), 8);
  EXPECT_EQ(unknown.spec().token_names(7), "<unk>");
}

TEST(ViewTest, LongerExamplesKeepTheirFirstTokens) {
  DataView view;
  view.set_max_length_tokens(3);
  EXPECT_EQ(Apply(Transform(TextSpec(), view), "abcdef"), (Ids{98, 99, 100}));
  EXPECT_EQ(Apply(Transform(IdSpec(), view), {4, 1, 2, 5}), (Ids{4, 1, 2}));
}

TEST(ViewTest, BracketsGoBeforeTheCut) {
  DataView view;
  view.set_max_length_tokens(4);
  EXPECT_EQ(Apply(Transform(IdSpec(), view), {4, 4, 1, 5, 2, 5}), (Ids{4, 4, 1, 5}));
  view.set_brackets(DataView::NONE);
  EXPECT_EQ(Apply(Transform(IdSpec(), view), {4, 4, 1, 5, 2, 5}), (Ids{4, 4, 1, 2}));
  EXPECT_EQ(Apply(Transform(IdSpec(), view), {4, 1, 5}), (Ids{4, 1}));
  EXPECT_EQ(Apply(Transform(IdSpec(), view), std::vector<uint16_t>{5}), Ids());
}

}  // namespace
}  // namespace lra
