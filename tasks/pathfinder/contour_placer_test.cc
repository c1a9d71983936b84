// Repeats what was placed, paddle by paddle, on a plain mask, and checks each paddle against the
// rules.
#include "tasks/pathfinder/contour_placer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tasks/pathfinder/exact_trig.h"
#include "tasks/pathfinder/options.h"
#include "tasks/pathfinder/options_test_util.h"

namespace lra::pathfinder {
namespace {

class Referee {
 public:
  Referee(const PathfinderOptions& options, int margin)
      : options_(options),
        side_(options.side_pixels()),
        shape_(OfficialShape(side_, margin)),
        painter_(shape_),
        mask_(static_cast<size_t>(side_) * side_, 0) {
    for (int i = 0; i < side_ * side_; ++i) {
      const int y = i / side_, x = i % side_;
      if (std::min({y, x, side_ - 1 - y, side_ - 1 - x}) < options.padding_pixels()) mask_[i] = 255;
    }
  }

  struct Contour {
    PaddleStamp latest;
    Point latest_at, pivot;
    double angle = 0;
  };

  // Places the first paddle with its tail at `at`. Distractors need free space and a usable
  // direction.
  Contour Begin(const PlacedPaddle& placed, bool needs_space) {
    const int degrees = placed.direction - 180;
    EXPECT_LT(placed.direction, 360);
    Contour contour{painter_.Paint(Radians(degrees)), placed.at, {}, Radians(degrees)};
    const Point head = StepFrom(placed.at, contour.angle, shape_.length_pixels);
    contour.pivot = StepFrom(head, Opposite(contour.angle), shape_.Reach());
    EXPECT_TRUE(IsInside(head) && IsInside(contour.pivot));
    if (!needs_space) return contour;
    const std::vector<Point> checked = CheckedPixels(contour.latest, shape_.Reach());
    EXPECT_TRUE(SeesTheImageFromEveryCorner(checked)) << degrees;
    for (const Point p : checked) {
      if (IsInside(placed.at + p)) {
        EXPECT_LE(At(placed.at + p), 76) << degrees;
      }
    }
    return contour;
  }

  void Extend(const PlacedPaddle& placed, Contour* contour) {
    const Point pivot =
        StepFrom(contour->pivot, contour->angle, shape_.length_pixels + 2 * shape_.margin_pixels);
    const Point offset{placed.at.y - pivot.y, placed.at.x - pivot.x};
    const std::vector<Point> circle = HeadOffsets(shape_.Reach());
    EXPECT_EQ(std::count(circle.begin(), circle.end(), offset), 1) << offset.y << " " << offset.x;
    const double angle = ExactAtan2(offset.y, offset.x);
    EXPECT_LT(TurnBetween(angle, contour->angle) * options_.continuity(), std::acos(0.0));
    EXPECT_TRUE(IsInside(placed.at));
    EXPECT_LT(Dilated(placed.at), 255);
    const PaddleStamp stamp = painter_.Paint(Opposite(angle));
    ForEach(stamp, placed.at, [](int here, int there) { EXPECT_LT(here + there, 459); });
    Add(*contour);
    *contour = {stamp, placed.at, pivot, angle};
  }

  void Add(const Contour& contour) {
    ForEach(contour.latest, contour.latest_at,
            [](uint8_t& here, uint8_t there) { here = std::max(here, there); });
  }

  void ExpectMask(const Occupancy& occupancy) {
    for (int i = 0; i < side_ * side_; ++i) {
      const Point p{i / side_, i % side_};
      ASSERT_EQ(occupancy.MaskAt(p), At(p)) << p.y << " " << p.x;
    }
  }

 private:
  bool IsInside(Point p) const { return p.y >= 0 && p.x >= 0 && p.y < side_ && p.x < side_; }
  uint8_t& At(Point p) { return mask_[p.y * side_ + p.x]; }
  Point StepFrom(Point p, double angle, double distance) const {
    return {static_cast<int>(std::ceil(p.y + distance * ExactSin(angle))),
            static_cast<int>(std::ceil(p.x + distance * ExactCos(angle)))};
  }
  int Dilated(Point p) {
    int greatest = 0;
    const int margin = shape_.margin_pixels;
    for (int dy = -margin; dy <= margin; ++dy) {
      for (int dx = -margin; dx <= margin; ++dx) {
        const Point q = p + Point{dy, dx};
        if (dy * dy + dx * dx <= margin * margin && IsInside(q)) {
          greatest = std::max<int>(greatest, At(q));
        }
      }
    }
    return greatest;
  }
  template <class Function>
  void ForEach(const PaddleStamp& stamp, Point at, Function function) {
    for (int i = 0; i < stamp.side * stamp.side; ++i) {
      const Point p{at.y - stamp.side / 2 + i / stamp.side, at.x - stamp.side / 2 + i % stamp.side};
      if (IsInside(p)) function(At(p), stamp.mask[i]);
    }
  }

  const PathfinderOptions& options_;
  const int side_;
  const PaddleShape shape_;
  const PaddlePainter painter_;
  std::vector<uint8_t> mask_;
};

void FollowTargets(const PathfinderOptions& options, const ContourPlacer& placer,
                   Referee* referee) {
  const std::vector<PlacedPaddle>& placed = placer.placed();
  ASSERT_EQ(placed.size(), 2u * options.contour_paddles());
  EXPECT_EQ(placed[0].at, placer.origin(0));
  EXPECT_EQ(placed[1].at, placer.origin(1));
  // The first tail is so far inside that its checked pixels, about 5 around it, keep twice the seed
  // distance from the border.
  const int border = 2 * options.seed_distance_pixels() - 2 * options.paddle_length_pixels() - 6;
  EXPECT_GE(std::min(placed[0].at.y, placed[0].at.x), border);
  EXPECT_LT(std::max(placed[0].at.y, placed[0].at.x), options.side_pixels() - border);
  Referee::Contour contours[2] = {referee->Begin(placed[0], false),
                                  referee->Begin(placed[1], false)};
  for (size_t i = 2; i < placed.size(); ++i) referee->Extend(placed[i], &contours[i % 2]);
  EXPECT_EQ(contours[0].latest_at, placer.terminal(0));
  EXPECT_EQ(contours[1].latest_at, placer.terminal(1));
  // Only contour 1 enters its last paddle.
  referee->Add(contours[1]);
  referee->ExpectMask(placer.occupancy());
}

int FollowDistractors(const PathfinderOptions& options, ContourPlacer* placer, Referee* referee) {
  int found = 0;
  for (int i = 0; i < 5 * options.distractors(); ++i) {
    const size_t before = placer->placed().size();
    if (!placer->TryDistractor()) {
      EXPECT_EQ(placer->placed().size(), before);
      referee->ExpectMask(placer->occupancy());
      continue;
    }
    ++found;
    const std::vector<PlacedPaddle>& placed = placer->placed();
    EXPECT_EQ(placed.size(), before + options.distractor_paddles());
    Referee::Contour contour = referee->Begin(placed[before], true);
    for (size_t j = before + 1; j < placed.size(); ++j) referee->Extend(placed[j], &contour);
    referee->Add(contour);
    referee->ExpectMask(placer->occupancy());
  }
  return found;
}

void FollowImages(int side, int margin, int images) {
  const PathfinderOptions options = *ResolveOptions(OfficialOptions(side));
  const MarginTables tables(options, margin);
  int distractors = 0;
  for (int i = 0; i < images; ++i) {
    RandomStream random(5, RandomDomain("pathfinder"), {0, static_cast<uint32_t>(i), 0});
    ContourPlacer placer(options, tables, &random);
    while (!placer.TryTargets()) {
    }
    Referee referee(options, margin);
    FollowTargets(options, placer, &referee);
    distractors += FollowDistractors(options, &placer, &referee);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(distractors, images);
}

TEST(ContourPlacerTest, FollowsTheRulesAt32) { FollowImages(32, 1, 60); }
TEST(ContourPlacerTest, FollowsTheRulesAt64) { FollowImages(64, 1, 15); }
TEST(ContourPlacerTest, FollowsTheRulesAt128) {
  FollowImages(128, 2, 8);
  FollowImages(128, 3, 8);
}
TEST(ContourPlacerTest, FollowsTheRulesAt256) { FollowImages(256, 3, 4); }

// The turn from one direction to another, in degrees, -180 .. 180.
double SignedTurn(double from_rad, double to_rad) {
  return std::remainder(to_rad - from_rad, 2 * std::numbers::pi) * 180 / std::numbers::pi;
}

// Heads are drawn in proportion to the turn weights where nothing is in the way: the second paddle
// of contour 0 has empty surroundings in the middle of a large image. Chi-square over turns of 10
// degrees, left and right; the limit is the 99.9 % quantile for 9 degrees of freedom.
TEST(ContourPlacerTest, TurnsAreDrawnByWeight) {
  PathfinderOptions options = OfficialOptions(256);
  options.set_contour_paddles(2);
  options = *ResolveOptions(options);
  const MarginTables tables(options, 3);
  // Turns of -50 .. 50 degrees; just below 50, the quotient is rounded to 5.
  const auto bin = [](double turn) { return std::min(9, static_cast<int>(turn / 10 + 5)); };
  std::vector<double> seen(10, 0), expected(10, 0);
  for (uint32_t i = 0; i < 3000; ++i) {
    RandomStream random(6, RandomDomain("pathfinder"), {0, i, 0});
    ContourPlacer placer(options, tables, &random);
    while (!placer.TryTargets()) {
    }
    const double first = tables.angles_rad[placer.placed()[0].direction];
    ++seen.at(bin(SignedTurn(first, tables.angles_rad[placer.placed()[2].direction])));
    std::vector<double> weights(10, 0);
    double total = 0;
    for (const Point offset : HeadOffsets(8)) {
      const double turn = SignedTurn(first, std::atan2(offset.y, offset.x));
      if (std::abs(turn) >= 50) continue;
      const double cosine = std::cos(1.8 * turn * std::numbers::pi / 180);
      weights[bin(turn)] += cosine * cosine;
      total += cosine * cosine;
    }
    for (int b = 0; b < 10; ++b) expected[b] += weights[b] / total;
  }
  double chi_square = 0;
  for (int b = 0; b < 10; ++b) {
    chi_square += (seen[b] - expected[b]) * (seen[b] - expected[b]) / expected[b];
  }
  EXPECT_LT(chi_square, 27.88);
}

}  // namespace
}  // namespace lra::pathfinder
