// The expected values are those of Pillow 9.4.0, Image.resize(size, Image.LANCZOS).
#include "tasks/pathfinder/lanczos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace lra::pathfinder {
namespace {

using testing::ElementsAre;

TEST(LanczosTest, ShrinksLikePillow) {
  std::vector<uint8_t> image(144);
  for (int i = 0; i < 144; ++i) image[i] = static_cast<uint8_t>(i * i * 7 % 251);
  EXPECT_THAT(ShrinkImage(image, LanczosFilter(12, 5)),
              ElementsAre(57, 99, 62, 87, 118, 97, 143, 105, 143, 97, 158, 126, 122, 138, 146, 94,
                          144, 162, 129, 109, 108, 153, 148, 156, 101));
}

// At sharp edges the filter overshoots 0 .. 255.
TEST(LanczosTest, Clamps) {
  const std::vector<uint8_t> row = {0, 50, 100, 150, 200, 250, 255, 255, 0, 0, 255, 10};
  std::vector<uint8_t> image;
  for (int y = 0; y < 12; ++y) image.insert(image.end(), row.begin(), row.end());
  const std::vector<uint8_t> small = ShrinkImage(image, LanczosFilter(12, 5));
  EXPECT_THAT(std::vector<int>(small.begin() + 10, small.begin() + 15),
              ElementsAre(34, 153, 255, 96, 95));
}

TEST(LanczosTest, EqualSizesChangeNothing) {
  std::vector<uint8_t> image(49);
  std::iota(image.begin(), image.end(), uint8_t{100});
  EXPECT_EQ(ShrinkImage(image, LanczosFilter(7, 7)), image);
}

TEST(LanczosTest, WeightsAddUpToOne) {
  const LanczosFilter filter(64, 32);
  for (int out = 0; out < 32; ++out) {
    const LanczosFilter::Taps& taps = filter.taps(out);
    const int64_t sum = std::accumulate(taps.weights.begin(), taps.weights.end(), int64_t{0});
    EXPECT_NEAR(static_cast<double>(sum), 1 << 22, 8) << out;
  }
  // The filter has three lobes of two samples on each side.
  EXPECT_EQ(filter.taps(16).weights.size(), 12u);
  EXPECT_EQ(filter.taps(16).first, 27);
  EXPECT_EQ(filter.taps(0).first, 0);
}

}  // namespace
}  // namespace lra::pathfinder
