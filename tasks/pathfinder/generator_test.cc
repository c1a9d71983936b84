#include "tasks/pathfinder/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "lra/check.h"
#include "lra/parallel.h"
#include "lra/sha256.h"
#include "tasks/pathfinder/options_test_util.h"

namespace lra::pathfinder {
namespace {

using testing::AllOf;
using testing::HasSubstr;

PathfinderGenerator Official(int side,
                             PathfinderOptions::Difficulty difficulty = PathfinderOptions::HARD) {
  auto generator = PathfinderGenerator::Create(OfficialOptions(side, difficulty));
  LRA_CHECK(generator.ok()) << generator.status();
  return *std::move(generator);
}

PathfinderImage DrawOne(const PathfinderGenerator& generator, uint32_t index) {
  RandomStream random(7, RandomDomain("pathfinder"), {0, index, 0});
  PathfinderImage image;
  const absl::Status status = generator.Draw(&random, &image);
  EXPECT_TRUE(status.ok()) << status;
  return image;
}

double Distance(Tip a, Tip b) { return std::hypot(a.y - b.y, a.x - b.x); }

void CheckImage(const PathfinderOptions& options, const PathfinderImage& image) {
  const int side = options.side_pixels();
  ASSERT_EQ(image.pixels.size(), static_cast<size_t>(side * side));
  const auto [least, greatest] = std::minmax_element(image.pixels.begin(), image.pixels.end());
  EXPECT_EQ(*least, 0);
  EXPECT_EQ(*greatest, 255);
  EXPECT_EQ(image.label == 1, image.marked_origin == image.marked_terminal);
  EXPECT_EQ(image.ambiguous, image.tips.terminals[0] == image.tips.terminals[1]);
  // Both coordinates are rounded to the nearest pixel.
  EXPECT_NEAR(Distance(image.tips.origins[0], image.tips.origins[1]),
              options.seed_distance_pixels(), std::sqrt(0.5) + 1e-9);
  for (const Tip tip : {image.tips.origins[0], image.tips.origins[1], image.tips.terminals[0],
                        image.tips.terminals[1]}) {
    EXPECT_GE(std::min(tip.y, tip.x), 0);
    EXPECT_LT(std::max(tip.y, tip.x), side);
  }
  // The filter leaves a marker 97 % of its brightness at the tip. At 32 pixels a distractor
  // (coverage up to 0.6, contrast 2) may be brighter; then the image is stretched less.
  const double marker = 0.97 * 255 / (side == 32 ? 1.2 : 1);
  for (const Tip tip :
       {image.tips.origins[image.marked_origin], image.tips.terminals[image.marked_terminal]}) {
    EXPECT_GE(image.pixels[tip.y * side + tip.x], marker);
  }
  EXPECT_GE(image.attempts, 1);
  EXPECT_LE(image.distractors, options.distractors());
  const int missing = options.distractors() - image.distractors;
  EXPECT_GE(image.distractor_attempts, image.distractors + 5 * missing);
  EXPECT_LE(image.distractor_attempts, 5 * options.distractors());
}

TEST(PathfinderGeneratorTest, ImagesAreWhatTheySay) {
  struct Case {
    int side, images;
    PathfinderOptions::Difficulty difficulty;
  };
  for (const Case& c :
       {Case{32, 500, PathfinderOptions::EASY}, Case{32, 500, PathfinderOptions::INTERMEDIATE},
        Case{32, 500, PathfinderOptions::HARD}, Case{64, 20, PathfinderOptions::HARD},
        Case{128, 30, PathfinderOptions::HARD}, Case{256, 30, PathfinderOptions::HARD}}) {
    const PathfinderGenerator generator = Official(c.side, c.difficulty);
    int positive = 0;
    for (int i = 0; i < c.images; ++i) {
      const PathfinderImage image = DrawOne(generator, i);
      CheckImage(generator.options(), image);
      positive += image.label;
    }
    EXPECT_NEAR(positive, c.images / 2.0, 4 * std::sqrt(c.images) / 2) << c.side;
  }
}

// An image drawn from one stream must not depend on who draws it, nor on what was drawn before.
TEST(PathfinderGeneratorTest, DependsOnTheStreamOnly) {
  const PathfinderGenerator generator = Official(32);
  std::vector<PathfinderImage> images(64);
  const absl::Status status = ParallelFor(4, 64, [&](int64_t i) -> absl::Status {
    RandomStream random(7, RandomDomain("pathfinder"), {0, static_cast<uint32_t>(i), 0});
    return generator.Draw(&random, &images[i]);
  });
  ASSERT_TRUE(status.ok()) << status;
  const PathfinderGenerator again = Official(32);
  for (int i = 63; i >= 0; --i) {
    const PathfinderImage image = DrawOne(again, i);
    EXPECT_EQ(image.pixels, images[i].pixels) << i;
    EXPECT_EQ(image.tips, images[i].tips);
    EXPECT_EQ(image.attempts, images[i].attempts);
  }
  EXPECT_NE(images[0].pixels, images[1].pixels);
}

// Pixels and ends of the first 20 images of seed 0 are pinned, because canonical data must not
// change. (GCC and Clang, with and without optimisation and wider vectors, give the same.)
TEST(PathfinderGeneratorTest, FirstImagesArePinned) {
  const auto digest = [](int side) {
    const PathfinderGenerator generator = Official(side);
    Sha256 hash;
    for (uint32_t i = 0; i < 20; ++i) {
      RandomStream random(0, RandomDomain("pathfinder"), {0, i, 0});
      PathfinderImage image;
      EXPECT_TRUE(generator.Draw(&random, &image).ok());
      hash.Update(image.pixels.data(), image.pixels.size());
      for (const auto& tips : {image.tips.origins, image.tips.terminals}) {
        for (const Tip tip : tips) {
          const std::array<int, 4> bytes = {tip.y % 256, tip.y / 256, tip.x % 256, tip.x / 256};
          for (const int byte : bytes) hash.Update(std::string(1, static_cast<char>(byte)));
        }
      }
    }
    return ToHex(hash.Finish());
  };
  EXPECT_EQ(digest(32), "76a661a69f474b73ca0b1e2c78822e871fd4fdcb232d7a47e962f34b2fedf92c");
  EXPECT_EQ(digest(64), "5a1ddb0e86ccdbd950093ba70cb440c9ab77fc76a49abc63a4b403b854806496");
  EXPECT_EQ(digest(128), "bb062479e552cbaca17096062d6a0b6433ea948771f54cf13ef87d72b8fb4056");
  EXPECT_EQ(digest(256), "a9faea1c33ce2b89e2622b0a8e4006fa196e792f8260d3153525e52ddfe5b3d0");
}

TEST(PathfinderGeneratorTest, TurnsAreThoseOfBothContours) {
  const PathfinderGenerator generator = Official(64);
  RandomStream random(7, RandomDomain("pathfinder"), {0, 0, 0});
  PathfinderImage image;
  std::vector<double> turns;
  ASSERT_TRUE(generator.Draw(&random, &image, &turns).ok());
  EXPECT_EQ(image.pixels, DrawOne(generator, 0).pixels);
  ASSERT_EQ(turns.size(), 26u);
  const double right_angle = std::acos(0.0) / generator.options().continuity();
  for (const double turn : turns) {
    EXPECT_GE(turn, 0);
    EXPECT_LT(turn, right_angle);
  }
}

TEST(PathfinderGeneratorTest, MarginsAndContrastsAreDrawn) {
  PathfinderOptions options = OfficialOptions(128);
  options.set_contour_paddles(2);
  options.add_contour_contrasts(0.5);
  options.add_paddle_contrasts(0.6);
  const auto generator = PathfinderGenerator::Create(options);
  ASSERT_TRUE(generator.ok()) << generator.status();
  std::vector<int> margins(4);
  for (uint32_t i = 0; i < 200; ++i) ++margins[DrawOne(*generator, i).margin_pixels];
  EXPECT_NEAR(margins[2], 100, 30);
  EXPECT_EQ(margins[2] + margins[3], 200);
}

// Two of the images whose second contour began outside of the picture, where there are no pictures
// of discs.
TEST(PathfinderGeneratorTest, ContoursBeginInsideWithoutTheArtefact) {
  PathfinderOptions options = OfficialOptions(32);
  options.set_border_artifact(false);
  const auto generator = PathfinderGenerator::Create(options);
  ASSERT_TRUE(generator.ok()) << generator.status();
  for (const uint32_t index : {626u, 667u}) {
    RandomStream random(0, RandomDomain("pathfinder"), {0, index, 32u << 16 | 14u});
    PathfinderImage image;
    ASSERT_TRUE(generator->Draw(&random, &image).ok());
    for (const auto& tips : {image.tips.origins, image.tips.terminals}) {
      for (const Tip tip : tips)
        EXPECT_TRUE(std::min(tip.y, tip.x) >= 0 && std::max(tip.y, tip.x) < 32) << tip.y << tip.x;
    }
  }
}

TEST(PathfinderGeneratorTest, LinesThatHideDiscsAreRefused) {
  PathfinderOptions options = OfficialOptions(32);
  options.set_contour_contrasts(0, 20);
  const auto generator = PathfinderGenerator::Create(options);
  ASSERT_TRUE(generator.ok()) << generator.status();
  RandomStream random(7, RandomDomain("pathfinder"), {0, 0, 0});
  PathfinderImage image;
  const absl::Status status = generator->Draw(&random, &image);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("contour_contrasts"));
}

TEST(PathfinderGeneratorTest, SaysWhenNothingFits) {
  PathfinderOptions options = OfficialOptions(32);
  options.set_contour_paddles(60);
  const auto generator = PathfinderGenerator::Create(options);
  ASSERT_TRUE(generator.ok()) << generator.status();
  RandomStream random(7, RandomDomain("pathfinder"), {0, 0, 0});
  PathfinderImage image;
  const absl::Status status = generator->Draw(&random, &image);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("60 paddles"), HasSubstr("side_pixels (32)")));
}

TEST(PathfinderGeneratorTest, SaysWhenNothingCanBegin) {
  PathfinderOptions options = OfficialOptions(32);
  options.set_paddle_length_pixels(1);
  const auto generator = PathfinderGenerator::Create(options);
  EXPECT_EQ(generator.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(generator.status().message(), HasSubstr("no paddle can begin a contour"));
}

}  // namespace
}  // namespace lra::pathfinder
