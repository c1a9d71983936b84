#include "tasks/pathfinder/marker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lra/sha256.h"
#include "tasks/pathfinder/canvas.h"

namespace lra::pathfinder {
namespace {

using testing::AnyOf;
using testing::ElementsAre;

// A whole image with nothing but this marker, not stretched.
std::vector<uint8_t> ImageOf(const MarkerPictures& markers, int side, Point tip) {
  std::vector<uint8_t> image(static_cast<size_t>(side) * side, 0);
  const int reach = markers.reach(), width = 2 * reach + 1;
  for (int i = 0; i < width * width; ++i) {
    const Point p = tip + Point{i / width - reach, i % width - reach};
    const uint8_t byte = markers.At(tip)[i];
    if (p.y >= 0 && p.x >= 0 && p.y < side && p.x < side) {
      image[p.y * side + p.x] = byte;
    } else {
      EXPECT_EQ(byte, 0);
    }
  }
  return image;
}

// The expected pixels are Pillow 9.4.0's: a disc on a canvas of twice the side,
// Image.resize(LANCZOS).
TEST(MarkerTest, LooksLikePillows) {
  const MarkerPictures markers(32, 1.5, 2);
  const std::vector<uint8_t> image = ImageOf(markers, 32, {10, 12});
  const auto row = [&](int y) {
    return std::vector<int>(image.begin() + y * 32 + 9, image.begin() + y * 32 + 16);
  };
  EXPECT_THAT(row(8), ElementsAre(0, 0, 28, 65, 3, 1, 0));
  EXPECT_THAT(row(9), ElementsAre(0, 28, 228, 254, 133, 2, 4));
  EXPECT_THAT(row(10), ElementsAre(0, 66, 255, 255, 190, 6, 3));
  EXPECT_THAT(row(11), ElementsAre(0, 0, 132, 178, 55, 1, 3));
  EXPECT_THAT(row(12), ElementsAre(0, 1, 0, 0, 0, 1, 0));
}

std::string DigestOfMarkers(int side, double radius, int step) {
  const MarkerPictures markers(side, radius, 2);
  Sha256 hash;
  for (int y = 0; y < side; y += step) {
    for (int x = 0; x < side; x += step) {
      const std::vector<uint8_t> image = ImageOf(markers, side, {y, x});
      hash.Update(image.data(), image.size());
    }
  }
  return ToHex(hash.Finish());
}

// At the border the filter's weights differ, so every tip of the grid is compared, corners
// included. The digests are of Pillow's images.
TEST(MarkerTest, LooksLikePillowsEverywhere) {
  EXPECT_EQ(DigestOfMarkers(32, 1.5, 1),
            "2db8394dce91c103ef1a038a722a619f9f20782c5eccbd845dab5cc328af5d5c");
  EXPECT_EQ(DigestOfMarkers(64, 2.5, 3),
            "cb691e485b986f46270a2ea1b0cf0e6fd10bee73da888c93c94c20ec26129a20");
  EXPECT_EQ(DigestOfMarkers(128, 3, 9),
            "438a3a02de4c8b17f2b4a209d8210dff48a15b5af339ae648a1c243d8f0f9238");
  EXPECT_EQ(DigestOfMarkers(256, 5, 31),
            "5be7cd80f51a7210c0286ab97227d1a68cb3e8a70fce3f9c67614807f068129d");
}

TEST(CanvasTest, JoinsByMaximumCutsOffAndStretches) {
  Canvas canvas(3);
  const uint8_t coverage[] = {100, 20, 40, 80};
  canvas.DrawPaddle(coverage, 2, 2, {-1, 1},
                    1.5);  // its lower row, 40 and 80, lies at (0, 1) and (0, 2)
  canvas.DrawPaddle(coverage, 2, 2, {0, 2},
                    2);  // its left column, 100 and 40, at (0, 2) and (1, 2)
  canvas.DrawPaddle(coverage, 2, 2, {2, -1}, 1);  // 20 at (2, 0)
  std::vector<uint8_t> pixels;
  canvas.Stretch(&pixels);
  // 60, 200, 80 and 20 of 200 times 255 are 76.5, 255, 102 and 25.5; rounding errors decide about
  // the halves.
  EXPECT_THAT(pixels, ElementsAre(0, AnyOf(76, 77), 255, 0, 0, 102, AnyOf(25, 26), 0, 0));
}

// Bytes of images of the original program. 1.5 b is halfway between two bytes for odd b; what
// decides is the error of b / 255 * 1.5 as a float, which is above 0 below 1/2, and below 0 above.
TEST(CanvasTest, HalvesAreRoundedAsInTheOriginal) {
  const std::vector<uint8_t> coverage = {65, 67, 69, 81, 83, 93, 95, 105, 133, 135, 147};
  Canvas canvas(16);
  canvas.DrawPaddle(coverage.data(), 1, 11, {3, 2}, 1.5);
  const uint8_t full = 255;
  canvas.DrawMarker(&full, 1, 1, {0, 0});
  std::vector<uint8_t> pixels;
  canvas.Stretch(&pixels);
  EXPECT_THAT(std::vector<int>(pixels.begin() + 50, pixels.begin() + 61),
              ElementsAre(98, 101, 104, 122, 125, 139, 142, 157, 199, 202, 220));
}

// 133 is half of 266 = 2 * 133; as a float, 266 / 255 is too large.
TEST(CanvasTest, MarkersAreMorePreciseThanPaddles) {
  const uint8_t coverage = 133;
  Canvas canvas(16);
  canvas.DrawPaddle(&coverage, 1, 1, {0, 0}, 2);
  canvas.DrawPaddle(&coverage, 1, 1, {0, 1}, 1);
  canvas.DrawMarker(&coverage, 1, 1, {0, 2});
  std::vector<uint8_t> pixels;
  canvas.Stretch(&pixels);
  EXPECT_EQ(pixels[0], 255);
  EXPECT_EQ(pixels[1], 128);
  EXPECT_EQ(pixels[2], 127);
}

TEST(CanvasTest, APlainImageIsBlack) {
  std::vector<uint8_t> pixels;
  Canvas(16).Stretch(&pixels);
  EXPECT_EQ(pixels, std::vector<uint8_t>(256, 0));
}

}  // namespace
}  // namespace lra::pathfinder
