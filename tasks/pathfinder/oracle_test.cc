#include "tasks/pathfinder/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "lra/parallel.h"
#include "tasks/pathfinder/generator.h"
#include "tasks/pathfinder/options_test_util.h"

namespace lra::pathfinder {
namespace {

// A black image with discs of plain coverage: the share of 8 x 8 points of a pixel that lie inside
// the disc.
std::vector<uint8_t> Discs(int side, double radius, const std::vector<Tip>& tips, int brightness) {
  std::vector<uint8_t> image(static_cast<size_t>(side) * side, 0);
  for (const Tip tip : tips) {
    for (int i = 0; i < side * side; ++i) {
      int inside = 0;
      for (int point = 0; point < 64; ++point) {
        // The middle of a disc is a quarter of a pixel up and left of its pixel's middle.
        const double y = i / side - tip.y - 0.25 + (point / 8 + 0.5) / 8;
        const double x = i % side - tip.x - 0.25 + (point % 8 + 0.5) / 8;
        inside += y * y + x * x <= radius * radius;
      }
      image[i] = std::max(image[i], static_cast<uint8_t>(brightness * inside / 64));
    }
  }
  return image;
}

ContourTips SomeTips() { return {{Tip{10, 10}, Tip{12, 17}}, {Tip{25, 3}, Tip{26, 4}}}; }

TEST(OracleTest, FindsPlainDiscs) {
  const MarkerOracle oracle(32, 1.5, 2);
  const ContourTips tips = SomeTips();
  for (int origin = 0; origin < 2; ++origin) {
    for (int terminal = 0; terminal < 2; ++terminal) {
      const std::vector<uint8_t> image =
          Discs(32, 1.9, {tips.origins[origin], tips.terminals[terminal]}, 230);
      EXPECT_EQ(oracle.Label(image, tips), origin == terminal ? 1 : 0) << origin << terminal;
    }
  }
}

TEST(OracleTest, SaysWhenThePictureDoesNotTell) {
  const MarkerOracle oracle(32, 1.5, 2);
  ContourTips tips = SomeTips();
  EXPECT_EQ(oracle.Label(std::vector<uint8_t>(1024, 0), tips), std::nullopt);
  EXPECT_EQ(oracle.Label(Discs(32, 1.9, {tips.origins[0]}, 230), tips), std::nullopt);
  EXPECT_EQ(oracle.Label(Discs(32, 1.9, {tips.origins[0], tips.terminals[0], tips.origins[1]}, 230),
                         tips),
            std::nullopt);
  tips.terminals[1] = tips.terminals[0];
  EXPECT_EQ(oracle.Label(Discs(32, 1.9, {tips.origins[0], tips.terminals[0]}, 230), tips),
            std::nullopt);
}

// At most `ambiguous_share` of the images may have coinciding ends. (30,000 images of the easy,
// intermediate and hard sets have 0.53, 0.43 and 0.28 %; 5,000 of each of the original's have 0.34,
// 0.52 and 0.24 %.)
void CompareWithGenerator(int side, PathfinderOptions::Difficulty difficulty, int images,
                          double ambiguous_share) {
  const auto generator = PathfinderGenerator::Create(OfficialOptions(side, difficulty));
  ASSERT_TRUE(generator.ok()) << generator.status();
  const PathfinderOptions& options = generator->options();
  const MarkerOracle oracle(side, options.marker_radius_pixels(), options.antialias_scale());
  std::atomic<int> ambiguous = 0, wrong = 0;
  const absl::Status status = ParallelFor(AvailableCores(), images, [&](int64_t i) -> absl::Status {
    RandomStream random(11, RandomDomain("pathfinder"), {0, static_cast<uint32_t>(i), 0});
    PathfinderImage image;
    if (absl::Status drawn = generator->Draw(&random, &image); !drawn.ok()) return drawn;
    const std::optional<int> label = oracle.Label(image.pixels, image.tips);
    ambiguous += image.ambiguous;
    wrong += label.has_value() == image.ambiguous || label.value_or(image.label) != image.label;
    // Exchanging the ends changes the answer.
    std::swap(image.tips.origins[0], image.tips.origins[1]);
    const std::optional<int> exchanged = oracle.Label(image.pixels, image.tips);
    wrong += exchanged.has_value() != label.has_value() || exchanged.value_or(-1) == label;
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(wrong, 0) << side;
  EXPECT_LE(ambiguous, images * ambiguous_share + 1) << side;
}

TEST(OracleTest, AgreesWithTheGeneratorAt32) {
  CompareWithGenerator(32, PathfinderOptions::EASY, 10000, 0.01);
  CompareWithGenerator(32, PathfinderOptions::INTERMEDIATE, 10000, 0.01);
  CompareWithGenerator(32, PathfinderOptions::HARD, 10000, 0.01);
}

TEST(OracleTest, AgreesWithTheGeneratorAtOtherSides) {
  CompareWithGenerator(64, PathfinderOptions::HARD, 300, 0.02);
  CompareWithGenerator(128, PathfinderOptions::HARD, 300, 0.02);
  CompareWithGenerator(256, PathfinderOptions::HARD, 300, 0.02);
}

}  // namespace
}  // namespace lra::pathfinder
