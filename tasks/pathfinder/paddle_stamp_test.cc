// The expected pictures are Pillow's (9.4.0): the same lines drawn with ImageDraw.line and shrunk
// with Image.resize(LANCZOS). Those of 32 x 32 pixels were also compared with pictures taken from
// the original program, drewlinsley/pathfinder ab9c130; the digests are of that comparison's text.
#include "tasks/pathfinder/paddle_stamp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lra/sha256.h"
#include "tasks/pathfinder/exact_trig.h"
#include "tasks/pathfinder/options_test_util.h"

namespace lra::pathfinder {
namespace {

using testing::ElementsAre;

std::string Hex(const std::vector<uint8_t>& bytes) {
  return absl::BytesToHexString(std::string(bytes.begin(), bytes.end()));
}

// Writes a line "S degrees line mask" for every first paddle, and "E dy dx line mask" for every
// other one.
std::string AllStamps(const PaddleShape& shape) {
  const PaddlePainter painter(shape);
  std::string text;
  for (int degrees = -180; degrees < 180; ++degrees) {
    const PaddleStamp stamp = painter.Paint(Radians(degrees));
    absl::StrAppend(&text, "S ", degrees, " ", Hex(stamp.line), " ", Hex(stamp.mask), "\n");
  }
  std::vector<Point> offsets = HeadOffsets(shape.Reach());
  std::sort(offsets.begin(), offsets.end(),
            [](Point a, Point b) { return a.y != b.y ? a.y < b.y : a.x < b.x; });
  for (const Point offset : offsets) {
    const PaddleStamp stamp = painter.Paint(Opposite(ExactAtan2(offset.y, offset.x)));
    absl::StrAppend(&text, "E ", offset.y, " ", offset.x, " ", Hex(stamp.line), " ",
                    Hex(stamp.mask), "\n");
  }
  return text;
}

std::vector<int> Row(const std::vector<uint8_t>& picture, int side, int y) {
  return {picture.begin() + y * side, picture.begin() + (y + 1) * side};
}

TEST(PaddleStampTest, HorizontalPaddleOf32Pixels) {
  const PaddleStamp stamp = PaddlePainter(OfficialShape(32, 1)).Paint(0);
  ASSERT_EQ(stamp.side, 9);
  EXPECT_THAT(Row(stamp.line, 9, 4), ElementsAre(0, 0, 2, 0, 102, 135, 116, 0, 0));
  EXPECT_THAT(Row(stamp.mask, 9, 4), ElementsAre(0, 3, 0, 155, 255, 255, 255, 183, 3));
  EXPECT_THAT(Row(stamp.mask, 9, 3), ElementsAre(0, 1, 2, 20, 173, 204, 186, 28, 0));
  EXPECT_THAT(Row(stamp.mask, 9, 5), ElementsAre(0, 1, 2, 20, 173, 204, 186, 28, 0));
}

TEST(PaddleStampTest, AllStampsAreThoseOfTheOriginal) {
  EXPECT_EQ(Sha256Hex(AllStamps(OfficialShape(32, 1))),
            "dcea01f1ef3ab50e90f02741d341f6d61a5ee1cbd9f59a53d3ca92f017744482");
}

TEST(PaddleStampTest, AllStampsOfOtherSizesAreThoseOfPillow) {
  EXPECT_EQ(Sha256Hex(AllStamps(OfficialShape(64, 1))),
            "3b5736263058051a93d46e09573b76cfaeab0e0440bbeb536fbb2bbdb664e09f");
  EXPECT_EQ(Sha256Hex(AllStamps(OfficialShape(128, 2))),
            "f3d5f354825c451d6dd060914273670a93e6f9b6463c967916566635bc811d3b");
  EXPECT_EQ(Sha256Hex(AllStamps(OfficialShape(128, 3))),
            "d143ba47a7f4829d2267660930ea17cd5eac3d23f3a00f9fffa29d5346c284ee");
  EXPECT_EQ(Sha256Hex(AllStamps(OfficialShape(256, 3))),
            "a7795ef56172ee14b331a237930913be8bf1eab9bf76c00dca4f21f69d97eab0");
}

// Computed by hand: 6 right, 2 down. The error starts at 2 * 2 - 6 < 0, so the steps down follow
// the second and the fifth pixel.
TEST(PaddleStampTest, ThinLinesAreBresenhams) {
  std::vector<uint8_t> canvas(64, 0);
  DrawLine({1, 0}, {3, 6}, 1, 8, &canvas);
  std::vector<Point> lit;
  for (int i = 0; i < 64; ++i) {
    if (canvas[i] == 255) lit.push_back({i / 8, i % 8});
  }
  EXPECT_EQ(lit, (std::vector<Point>{{1, 0}, {1, 1}, {2, 2}, {2, 3}, {2, 4}, {3, 5}, {3, 6}}));
}

TEST(PaddleStampTest, DilationTakesTheMaximumOfADisc) {
  std::vector<uint8_t> image(25, 0);
  image[12] = 9;
  image[0] = 7;
  EXPECT_THAT(DilateByDisc(image, 5, 1), ElementsAre(7, 7, 0, 0, 0,  //
                                                     7, 0, 9, 0, 0,  //
                                                     0, 9, 9, 9, 0,  //
                                                     0, 0, 9, 0, 0,  //
                                                     0, 0, 0, 0, 0));
  // The disc of radius 2 has 13 pixels.
  const std::vector<uint8_t> wide = DilateByDisc(image, 5, 2);
  EXPECT_EQ(std::count(wide.begin(), wide.end(), 9), 13);
}

struct Directions {
  int side, margin;
  size_t fewest_pixels, most_pixels;
  std::vector<int> usable;
};

std::vector<int> From(int first, int last) {
  std::vector<int> numbers;
  for (int i = first; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

std::vector<int> AllBut(int first, int last) {
  std::vector<int> numbers = From(-180, 179);
  std::erase_if(numbers, [&](int i) { return i >= first && i <= last; });
  return numbers;
}

// The expected directions are derived from OpenCV's definition of a dilation with its default
// border.
TEST(PaddleStampTest, FirstPaddlesHaveTheDirectionsOfTheOriginal) {
  std::vector<int> of_64 = From(-180, -85);
  std::erase(of_64, -135);
  for (const Directions& expected :
       {Directions{32, 1, 1, 4, From(-150, -121)}, Directions{64, 1, 2, 11, of_64},
        Directions{128, 2, 10, 20, AllBut(-59, -54)}, Directions{128, 3, 26, 41, From(-180, 179)},
        Directions{256, 3, 31, 43, From(-180, 179)}}) {
    const PaddleShape shape = OfficialShape(expected.side, expected.margin);
    const PaddlePainter painter(shape);
    size_t fewest = 1000, most = 0;
    std::vector<int> usable;
    for (int degrees = -180; degrees < 180; ++degrees) {
      const std::vector<Point> checked =
          CheckedPixels(painter.Paint(Radians(degrees)), shape.Reach());
      fewest = std::min(fewest, checked.size());
      most = std::max(most, checked.size());
      if (SeesTheImageFromEveryCorner(checked)) usable.push_back(degrees);
    }
    EXPECT_EQ(usable, expected.usable) << expected.side << " margin " << expected.margin;
    EXPECT_EQ(fewest, expected.fewest_pixels);
    EXPECT_EQ(most, expected.most_pixels);
  }
}

TEST(PaddleStampTest, AllFourQuadrantsMustBeSeen) {
  EXPECT_TRUE(SeesTheImageFromEveryCorner({{0, 0}}));
  EXPECT_TRUE(SeesTheImageFromEveryCorner({{0, -1}, {0, 1}}));
  EXPECT_TRUE(SeesTheImageFromEveryCorner({{2, 2}, {-1, 3}, {-1, -1}, {1, -4}}));
  EXPECT_FALSE(SeesTheImageFromEveryCorner({{2, 2}, {-1, 3}, {-1, -1}}));
  EXPECT_FALSE(SeesTheImageFromEveryCorner({{0, 1}, {1, 0}}));
  EXPECT_FALSE(SeesTheImageFromEveryCorner({}));
}

}  // namespace
}  // namespace lra::pathfinder
