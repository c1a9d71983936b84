#include "datasets/id_content.h"

#include <gtest/gtest.h>

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
