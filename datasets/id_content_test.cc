#include "datasets/id_content.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "datasets/view.h"

namespace lra {
namespace {

TaskSpec Spec(TaskSpec::Content content, const char* name) {
  TaskSpec spec;
  spec.set_name(name);
  spec.set_version(1);
  spec.set_vocabulary_size(256);
  spec.set_content(content);
  return spec;
}

std::string Seen(const TaskSpec& spec, const DataView& view) {
  return IdContent(SpecWithoutData(spec, view), view);
}

TEST(IdContentTest, TextsOfBytesShareTheirIds) {
  DataView view;
  view.set_unit(DataView::BYTE);
  TaskSpec pair = Spec(TaskSpec::TEXT, "retrieval");
  pair.set_is_pair(true);
  EXPECT_EQ(Seen(Spec(TaskSpec::TEXT, "text"), view), "bytes, 257 ids");
  EXPECT_EQ(Seen(pair, view), "bytes, 257 ids");
  DataView guesses = view;
  guesses.set_target(DataView::NEXT);
  EXPECT_EQ(Seen(Spec(TaskSpec::TEXT, "bytes_lm"), guesses), "bytes, 257 ids");
}

// Both have 258 ids, and the last one means another thing.
TEST(IdContentTest, AnEndMarkIsNoUnknownId) {
  DataView marked, unknown;
  marked.set_end_mark(true);
  unknown.set_unknown_id(true);
  const TaskSpec text = Spec(TaskSpec::TEXT, "text");
  EXPECT_EQ(Seen(text, marked), "bytes, an end mark, 258 ids");
  EXPECT_EQ(Seen(text, unknown), "bytes, an unknown id, 258 ids");
}

// Every text ends with it, whatever its name and what stands behind it.
TEST(EndMarkIdTest, IsTheLastIdOfATextThatTheViewMarks) {
  TaskSpec ids = Spec(TaskSpec::IDS, "copy");
  ids.set_vocabulary_size(12);
  ids.set_max_length_tokens(8);
  TaskSpec text = Spec(TaskSpec::TEXT, "text");
  text.set_max_length_tokens(8);
  EXPECT_EQ(EndMarkId(ids, {}), -1);
  for (const bool is_text : {false, true}) {
    for (const bool is_masked : {false, true}) {
      DataView view;
      view.set_end_mark(true);
      view.set_max_length_tokens(8);
      if (is_text) view.set_unit(DataView::BYTE);
      if (!is_text) view.set_unknown_id(true);
      if (is_masked) view.set_target(DataView::MASKED);
      const ViewTransform transform(is_text ? text : ids, view);
      std::vector<int32_t> seen;
      if (is_text) transform.Apply(std::vector<uint8_t>{'a', 'b'}, &seen);
      if (!is_text) transform.Apply(std::vector<uint16_t>{3, 4}, &seen);
      ASSERT_EQ(seen.size(), 3u);
      EXPECT_EQ(seen[2], is_text ? 257 : 12);
      EXPECT_EQ(EndMarkId(transform.spec(), view), seen[2]) << is_text << is_masked;
      EXPECT_EQ(MaskId(transform.spec()), is_masked ? (is_text ? 258 : 14) : -1);
    }
  }
  DataView points;
  points.set_unit(DataView::CODE_POINT);
  points.set_end_mark(true);
  points.set_max_length_tokens(8);
  points.set_min_code_point_count(1);
  ViewTransform transform(text, points);
  const std::vector<uint8_t> bytes = {'a', 'b'};
  transform.AddVocabulary(1, [&](int64_t, int) { return absl::MakeConstSpan(bytes); });
  std::vector<int32_t> seen;
  transform.Apply(absl::MakeConstSpan(bytes), &seen);
  EXPECT_EQ(seen.back(), 2);
  EXPECT_EQ(EndMarkId(transform.spec(), points), seen.back());
}

TEST(IdContentTest, PixelsAreNoBytesAndCountFromZeroOrOne) {
  TaskSpec image = Spec(TaskSpec::GREY_IMAGE, "pathfinder32");
  image.set_image_side_pixels(32);
  DataView view;
  view.set_pixels(DataView::IDS);
  EXPECT_EQ(Seen(image, view), "pixels from id 0, 256 ids");
  view.set_pixels(DataView::IDS_PLUS_ONE);
  EXPECT_EQ(Seen(image, view), "pixels from id 1, 257 ids");
  view.set_pixels(DataView::REAL);
  view.set_real_mean(0.5);
  view.set_real_stddev(0.25);
  EXPECT_EQ(Seen(image, view), "pixels as numbers (mean 0.5, deviation 0.25)");
}

TEST(IdContentTest, IdsWithoutNamesAreTheirTasksAlone) {
  TaskSpec spec = Spec(TaskSpec::IDS, "copy");
  spec.set_vocabulary_size(12);
  EXPECT_EQ(Seen(spec, {}), "ids of copy@1, 12 ids");
  spec.add_token_names("<pad>");
  spec.add_token_names("[MAX");
  spec.set_vocabulary_size(2);
  EXPECT_EQ(Seen(spec, {}), "tokens <pad> [MAX, 2 ids");
}

}  // namespace
}  // namespace lra
