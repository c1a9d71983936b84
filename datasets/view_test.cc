// What each field of a DataView makes of stored examples.
#include "datasets/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lra/sha256.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

using Bytes = std::vector<uint8_t>;
using Ids = std::vector<int32_t>;

TaskSpec TextSpec(bool is_pair = false) {
  TaskSpec spec;
  spec.set_name("words");
  spec.set_content(TaskSpec::TEXT);
  spec.set_vocabulary_size(256);
  spec.set_max_length_tokens(12);
  spec.set_classes(2);
  spec.set_is_pair(is_pair);
  return spec;
}

TaskSpec ImageSpec(TaskSpec::Content content, int side) {
  TaskSpec spec;
  spec.set_name("pictures");
  spec.set_content(content);
  spec.set_vocabulary_size(256);
  spec.set_image_side_pixels(side);
  spec.set_max_length_tokens(side * side * (content == TaskSpec::RGB_IMAGE ? 3 : 1));
  spec.set_classes(2);
  return spec;
}

// 1 .. 5, of which 5 closes a bracket.
TaskSpec IdSpec() {
  TaskSpec spec;
  spec.set_name("trees");
  spec.set_vocabulary_size(6);
  spec.set_max_length_tokens(8);
  spec.set_classes(2);
  spec.set_close_bracket_id(5);
  for (const char* name : {"<pad>", "1", "2", "3", "[", "]"}) spec.add_token_names(name);
  return spec;
}

Manifest Stored(const TaskSpec& spec) {
  Manifest manifest;
  *manifest.mutable_spec() = spec;
  for (const char* name : {"train", "validation", "test"}) {
    ManifestSplit* split = manifest.add_splits();
    split->set_name(name);
    split->set_examples(10);
    split->set_content_fingerprint(Sha256Hex(name));
  }
  return manifest;
}

DataView Resolved(const TaskSpec& spec, const DataView& view) {
  const absl::StatusOr<DataView> resolved = ResolveView(Stored(spec), view);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.value_or(view);
}

ViewTransform Transform(const TaskSpec& spec, const DataView& view) {
  return ViewTransform(spec, Resolved(spec, view));
}

// Length must agree with what Apply makes.
Ids Apply(const ViewTransform& transform, absl::string_view text) {
  const Bytes bytes(text.begin(), text.end());
  Ids ids;
  transform.Apply(absl::MakeConstSpan(bytes), &ids);
  EXPECT_EQ(transform.Length(absl::MakeConstSpan(bytes)), static_cast<int64_t>(ids.size())) << text;
  return ids;
}

Ids Apply(const ViewTransform& transform, const std::vector<uint16_t>& stored) {
  Ids ids;
  transform.Apply(absl::MakeConstSpan(stored), &ids);
  EXPECT_EQ(transform.Length(absl::MakeConstSpan(stored)), static_cast<int64_t>(ids.size()));
  return ids;
}

Ids Plus(int32_t offset, absl::string_view text) {
  Ids ids;
  for (char c : text) ids.push_back(static_cast<uint8_t>(c) + offset);
  return ids;
}

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
  points.set_end_mark(true);  // a whole example and its mark
  EXPECT_EQ(text(TextSpec(), points),
            "max_length_tokens: 13 split: OFFICIAL unit: CODE_POINT end_mark: true "
            "min_code_point_count: 15 pad_to: LONGEST");
  points.set_max_length_tokens(5);  // what is set stays
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

// --- Code points ---

// Pairs have two columns, which are counted together.
ViewTransform WithVocabulary(const TaskSpec& spec, const DataView& view,
                             const std::vector<std::string>& texts) {
  ViewTransform transform = Transform(spec, view);
  EXPECT_TRUE(transform.NeedsVocabulary());
  const int columns = spec.is_pair() ? 2 : 1;
  transform.AddVocabulary(
      static_cast<int64_t>(texts.size()) / columns, [&](int64_t example, int column) {
        const std::string& text = texts[example * columns + column];
        return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
      });
  return transform;
}

DataView CodePoints(int min_count) {
  DataView view;
  view.set_unit(DataView::CODE_POINT);
  view.set_min_code_point_count(min_count);
  return view;
}

TEST(CodePointViewTest, TheVocabularyIsSortedByCountThenCodePoint) {
  // e-acute 3 times; a, b twice; the euro sign, z once: too rare.
  const ViewTransform transform = WithVocabulary(TextSpec(), CodePoints(2),
                                                 {"b\xc3\xa9"
                                                  "a\xc3\xa9",
                                                  "ab\xc3\xa9", "\xe2\x82\xacz"});
  EXPECT_THAT(transform.spec().token_names(),
              ElementsAre("<pad>", "<unk>", "U+00E9", "U+0061", "U+0062"));
  EXPECT_EQ(transform.spec().vocabulary_size(), 5);
  EXPECT_EQ(Apply(transform,
                  "\xc3\xa9"
                  "abz\xe2\x82\xac"),
            (Ids{2, 3, 4, 1, 1}));
}

TEST(CodePointViewTest, TheEndMarkHasIdTwo) {
  DataView view = CodePoints(1);
  view.set_end_mark(true);
  view.set_max_length_tokens(3);
  const ViewTransform transform = WithVocabulary(TextSpec(), view, {"bba"});
  // Counted as they are cut: two code points and the mark.
  EXPECT_THAT(transform.spec().token_names(), ElementsAre("<pad>", "<unk>", "<eos>", "U+0062"));
  EXPECT_EQ(Apply(transform, "ba"), (Ids{3, 1, 2}));
  EXPECT_EQ(Apply(transform, "bbbb"), (Ids{3, 3, 2}));
}

TEST(CodePointViewTest, WhatIsNoUtf8IsTheReplacementCharacter) {
  const ViewTransform transform = WithVocabulary(TextSpec(), CodePoints(1), {"\xff\xc3"});
  EXPECT_THAT(transform.spec().token_names(), ElementsAre("<pad>", "<unk>", "U+FFFD"));
  EXPECT_EQ(Apply(transform, "\xc3\xa9\xff"), (Ids{1, 2}));
}

TEST(CodePointViewTest, BothTextsOfAPairCount) {
  DataView view = CodePoints(2);
  view.set_literals(DataView::DECODED);
  const ViewTransform transform =
      WithVocabulary(TextSpec(true), view, {"x", "b'xy'", "z", "b'\\x79'"});
  EXPECT_THAT(transform.spec().token_names(), ElementsAre("<pad>", "<unk>", "U+0078", "U+0079"));
}

TEST(CodePointViewTest, TheCutCountsCodePointsNotBytes) {
  DataView view = CodePoints(1);
  view.set_max_length_tokens(2);
  const ViewTransform transform = WithVocabulary(TextSpec(), view,
                                                 {"\xc3\xa9\xe2\x82\xac"
                                                  "a"});
  EXPECT_EQ(Apply(transform,
                  "\xe2\x82\xac\xc3\xa9"
                  "a"),
            (Ids{3, 2}));
}

// --- Literals (stored texts have at most 12 bytes) ---

TEST(LiteralViewTest, RawIsWhatStandsThere) {
  EXPECT_EQ(Apply(Transform(TextSpec(true), {}), "b'a\\n'"), Plus(1, "b'a\\n'"));
}

TEST(LiteralViewTest, DecodedIsWhatPythonReads) {
  DataView view;
  view.set_literals(DataView::DECODED);
  const ViewTransform transform = Transform(TextSpec(true), view);
  const std::vector<std::pair<std::string, std::string>> table = {
      {"b'a\\n\\xe9'", "a\n\xe9"},
      {"b\"it's\"", "it's"},
      {"plain", "plain"},
      // Cut at 12 bytes: what is left of the literal, without a torn escape.
      {"b'0123456789", "0123456789"},
      {"b'01234567\\x", "01234567"},
      {"b'012345\\xe9'", "012345\xe9"},
      // Only look like it: no closing quote, an escaped one, one too early, bytes that Python
      // refuses, no b, too short.
      {"b'abc", "b'abc"},
      {"b'abc\\'", "b'abc\\'"},
      {"b'a' or 'b'", "b'a' or 'b'"},
      {"b'caf\xc3\xa9'", "b'caf\xc3\xa9'"},
      {"'abc'", "'abc'"},
      {"b'", "b'"},
      {"B'abc'", "B'abc'"}};
  for (const auto& [stored, expected] : table) {
    EXPECT_EQ(Apply(transform, stored), Plus(1, expected)) << stored;
  }
}

TEST(LiteralViewTest, TheCutComesAfterDecoding) {
  DataView view;
  view.set_literals(DataView::DECODED);
  view.set_max_length_tokens(3);
  EXPECT_EQ(Apply(Transform(TextSpec(true), view), "b'\\x61\\x62cd'"), Plus(1, "abc"));
}

// --- Images ---

TEST(ImageViewTest, GreyPixelsAreIds) {
  DataView view;
  const TaskSpec spec = ImageSpec(TaskSpec::GREY_IMAGE, 2);
  const std::string pixels("\0\x01\x80\xff", 4);
  EXPECT_EQ(Apply(Transform(spec, view), pixels), (Ids{0, 1, 128, 255}));
  EXPECT_EQ(Transform(spec, view).spec().vocabulary_size(), 256);
  EXPECT_TRUE(Transform(spec, view).spec().zero_is_token());
  view.set_pixels(DataView::IDS_PLUS_ONE);
  EXPECT_EQ(Apply(Transform(spec, view), pixels), (Ids{1, 2, 129, 256}));
  EXPECT_EQ(Transform(spec, view).spec().vocabulary_size(), 257);
  EXPECT_FALSE(Transform(spec, view).spec().zero_is_token());
}

// One pixel each of (0, 255, 0), (255, 0, 0), (0, 0, 8), (9, 9, 9), plane by plane.
const std::string kColours("\0\xff\0\x09\xff\0\0\x09\0\0\x08\x09", 12);

TEST(ImageViewTest, ColoursBecomeGreyByEitherRule) {
  DataView view;
  const TaskSpec spec = ImageSpec(TaskSpec::RGB_IMAGE, 2);
  EXPECT_EQ(Apply(Transform(spec, view), kColours), (Ids{149, 76, 0, 9}));
  view.set_grey(DataView::PILLOW);
  EXPECT_EQ(Apply(Transform(spec, view), kColours), (Ids{150, 76, 1, 9}));
  view.set_pixels(DataView::IDS_PLUS_ONE);
  EXPECT_EQ(Apply(Transform(spec, view), kColours), (Ids{151, 77, 2, 10}));
  EXPECT_EQ(Transform(spec, view).spec().max_length_tokens(), 4);
}

TEST(ImageViewTest, RealPixelsAreScaled) {
  DataView view;
  view.set_pixels(DataView::REAL);
  const auto values = [&view](TaskSpec::Content content, absl::string_view text) {
    const TaskSpec spec = ImageSpec(content, 2);
    const Bytes pixels(text.begin(), text.end());
    EXPECT_TRUE(Transform(spec, view).spec().is_real());
    std::vector<float> out = {7};
    Transform(spec, view).ApplyReal(pixels, &out);
    return out;
  };
  // (p / 255 - 1/2) / (1/2)
  EXPECT_THAT(values(TaskSpec::GREY_IMAGE, absl::string_view("\0\x33\xcc\xff", 4)),
              ElementsAre(FloatEq(-1), FloatEq(-0.6f), FloatEq(0.6f), FloatEq(1)));
  view.set_real_mean(0.25f);
  view.set_real_stddev(2);
  EXPECT_THAT(values(TaskSpec::RGB_IMAGE, kColours),
              ElementsAre(FloatEq((149 / 255.0f - 0.25f) / 2), FloatEq((76 / 255.0f - 0.25f) / 2),
                          FloatEq(-0.125f), FloatEq((9 / 255.0f - 0.25f) / 2)));
}

}  // namespace
}  // namespace lra
