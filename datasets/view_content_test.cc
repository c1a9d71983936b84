// Tests the fields that belong to one kind of content: code points, literals, pixels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "datasets/view.h"
#include "datasets/view_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

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
  // The e-acute occurs 3 times, a and b twice; the euro sign and z occur once, which is too rare.
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
  // The texts are counted as they are cut: two code points and the end mark.
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
      // The literal is cut at 12 bytes; what is left of it has no broken escape.
      {"b'0123456789", "0123456789"},
      {"b'01234567\\x", "01234567"},
      {"b'012345\\xe9'", "012345\xe9"},
      // These only look like literals: the closing quote is missing, escaped or early, Python
      // refuses the bytes, the b is missing, or the text is too short.
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

// One pixel each of the colours (0, 255, 0), (255, 0, 0), (0, 0, 8), (9, 9, 9), plane by plane.
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

TEST(ImageViewTest, ColoursAreTokensInTurn) {
  DataView view;
  view.set_grey(DataView::COLOURS);
  const TaskSpec spec = ImageSpec(TaskSpec::RGB_IMAGE, 2);
  EXPECT_EQ(Apply(Transform(spec, view), kColours), (Ids{0, 255, 0, 255, 0, 0, 0, 0, 8, 9, 9, 9}));
  const TaskSpec seen = Transform(spec, view).spec();
  EXPECT_EQ(seen.max_length_tokens(), 12);
  EXPECT_EQ(seen.pixel_tokens(), 3);
  EXPECT_EQ(Transform(spec, view).Length(absl::MakeConstSpan(Bytes(12))), 12);
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
  // The expected values are (p / 255 - 1/2) / (1/2).
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
