#include "tasks/pathfinder/tables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "tasks/pathfinder/options.h"
#include "tasks/pathfinder/options_test_util.h"

namespace lra::pathfinder {
namespace {

constexpr double kPi = std::numbers::pi;

TEST(TablesTest, TurnWeightsAreSquaredCosines) {
  EXPECT_EQ(TurnWeight(0, 1), 65536u);
  EXPECT_EQ(TurnWeight(kPi / 4, 1), 32768u);
  EXPECT_EQ(TurnWeight(kPi / 3, 1), 16384u);
  EXPECT_EQ(TurnWeight(kPi / 2, 1), 0u);
  EXPECT_EQ(TurnWeight(3, 1), 0u);
  // cos^2 36 degrees = (3 + sqrt 5) / 8.
  EXPECT_EQ(TurnWeight(kPi / 9, 1.8), std::lround(65536 * (3 + std::sqrt(5.0)) / 8));
  EXPECT_EQ(TurnWeight(50 * kPi / 180 + 1e-9, 1.8), 0u);
}

TEST(TablesTest, TurnsListWhatHasAWeight) {
  const MarginTables tables(*ResolveOptions(OfficialOptions(64)), 1);
  ASSERT_EQ(tables.angles_rad.size(), 360u + 38u);
  for (size_t d = 0; d < tables.angles_rad.size(); ++d) {
    std::set<int> listed;
    for (int i = tables.turn_begin[d]; i < tables.turn_begin[d + 1]; ++i) {
      const Turn& turn = tables.turns[i];
      listed.insert(turn.next);
      const double angle = TurnBetween(tables.angles_rad[d], tables.angles_rad[360 + turn.next]);
      EXPECT_NEAR(turn.weight, 65536 * std::pow(std::cos(1.8 * angle), 2), 0.51);
      EXPECT_EQ(turn.shift, tables.layout.ShiftOf(tables.next[turn.next].offset));
    }
    for (int i = 0; i < 38; ++i) {
      const double angle = TurnBetween(tables.angles_rad[d], tables.angles_rad[360 + i]);
      EXPECT_EQ(listed.count(i), angle < 49.91 * kPi / 180 ? 1u : 0u) << angle * 180 / kPi;
    }
  }
}

// Weights and bytes are multiplied and summed in 32 bits.
TEST(TablesTest, TotalWeightsFitIn32Bits) {
  PathfinderOptions options = OfficialOptions(256);
  options.set_antialias_scale(1);  // pictures do not matter here
  options.set_paddle_length_pixels(20);
  options.set_continuity(0.1);
  const MarginTables tables(*ResolveOptions(options), 8);
  for (size_t d = 0; d + 1 < tables.turn_begin.size(); ++d) {
    uint64_t total = 0;
    for (int i = tables.turn_begin[d]; i < tables.turn_begin[d + 1]; ++i) {
      total += tables.turns[i].weight * uint64_t{255};
    }
    EXPECT_LT(total, uint64_t{1} << 32);
  }
}

TEST(TablesTest, FirstPaddlesStepFromTailToHeadToPivot) {
  const MarginTables tables(*ResolveOptions(OfficialOptions(32)), 1);
  // 90 degrees is down. The head is 2 further, and the pivot 3 back from it.
  const FirstPaddle& down = tables.first[270];
  EXPECT_EQ(down.head.From({10, 10}), (Point{12, 10}));
  EXPECT_EQ(down.pivot.From({12, 10}), (Point{9, 10}));
  // The next pivot is 2 + 2 * 1 away.
  EXPECT_EQ(tables.advance[270].From({9, 10}), (Point{13, 10}));
  int usable = 0;
  for (const FirstPaddle& first : tables.first) usable += first.usable;
  EXPECT_EQ(usable, 30);
}

TEST(TablesTest, EqualPicturesAreKeptOnce) {
  const MarginTables tables(*ResolveOptions(OfficialOptions(32)), 1);
  std::set<std::vector<int>> lines;
  for (const Paddle& paddle : tables.paddles) {
    std::vector<int> key(paddle.mask.bytes.begin(), paddle.mask.bytes.end());
    key.insert(key.end(), {paddle.mask.corner.y, paddle.mask.corner.x});
    lines.insert(key);
  }
  EXPECT_EQ(lines.size(), tables.paddles.size());
  EXPECT_LT(tables.paddles.size(), 60u);
}

}  // namespace
}  // namespace lra::pathfinder
