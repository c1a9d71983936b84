// Compares with the definitions, pixel by pixel on a plain array.
#include "tasks/pathfinder/occupancy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lra/random.h"
#include "tasks/pathfinder/options.h"
#include "tasks/pathfinder/options_test_util.h"

namespace lra::pathfinder {
namespace {

class PlainMask {
 public:
  PlainMask(int side, int padding, int margin) : side_(side), margin_(margin) {
    for (int i = 0; i < side * side; ++i) {
      const int y = i / side, x = i % side;
      const bool is_border = std::min({y, x, side - 1 - y, side - 1 - x}) < padding;
      bytes_.push_back(is_border ? 255 : 0);
    }
  }

  template <class Function>
  void ForEach(const PaddleStamp& stamp, Point at, Function function) {
    const int half = stamp.side / 2;
    for (int i = 0; i < stamp.side * stamp.side; ++i) {
      const int y = at.y - half + i / stamp.side, x = at.x - half + i % stamp.side;
      if (y >= 0 && x >= 0 && y < side_ && x < side_)
        function(bytes_[y * side_ + x], stamp.mask[i]);
    }
  }
  bool Collides(const PaddleStamp& stamp, Point at) {
    bool collides = false;
    ForEach(stamp, at, [&](int here, int there) { collides |= here + there >= 459; });
    return collides;
  }
  void Add(const PaddleStamp& stamp, Point at) {
    ForEach(stamp, at, [](uint8_t& here, uint8_t there) { here = std::max(here, there); });
  }
  std::vector<uint8_t> Spread() const { return DilateByDisc(bytes_, side_, margin_); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  int side_, margin_;
  std::vector<uint8_t> bytes_;
};

void ExpectEqual(const Occupancy& occupancy, const PlainMask& plain, int side) {
  const std::vector<uint8_t> spread = plain.Spread();
  int free = 0;
  for (int i = 0; i < side * side; ++i) {
    const Point p{i / side, i % side};
    ASSERT_EQ(occupancy.MaskAt(p), plain.bytes()[i]) << p.y << " " << p.x;
    ASSERT_EQ(*occupancy.SpreadAt(p), spread[i]) << p.y << " " << p.x;
    free += plain.bytes()[i] <= 76;
  }
  EXPECT_EQ(occupancy.CountFree(76), free);
  for (int i = -2; i < side + 2; ++i) {
    for (const Point outside : {Point{i, -1}, Point{i, side}, Point{-1, i}, Point{side, i}}) {
      ASSERT_EQ(occupancy.MaskAt(outside), 0);
      ASSERT_EQ(*occupancy.SpreadAt(outside), 255);
    }
  }
}

void CompareWithDefinition(int side, int margin) {
  PathfinderOptions options = *ResolveOptions(OfficialOptions(side));
  const MarginTables tables(options, margin);
  const PaddlePainter painter(OfficialShape(side, margin));
  Occupancy occupancy(tables);
  PlainMask plain(side, options.padding_pixels(), margin), committed = plain;
  RandomStream random(1, RandomDomain::kTest, {static_cast<uint32_t>(side), 0, 0});
  int collisions = 0;
  for (int i = 0; i < 600; ++i) {
    const int degrees = static_cast<int>(random.Below(360));
    const Paddle& paddle = tables.paddles[tables.first[degrees].paddle];
    const PaddleStamp stamp = painter.Paint(Radians(degrees - 180));
    const Point at{static_cast<int>(random.Below(side)), static_cast<int>(random.Below(side))};
    const bool collides = occupancy.Collides(paddle, at);
    ASSERT_EQ(collides, plain.Collides(stamp, at)) << i;
    collisions += collides;
    if (i % 8 == 0) {
      occupancy.Add(paddle, at);
      plain.Add(stamp, at);
    }
    if (i % 40 == 39) {
      occupancy.Commit();
      committed = plain;
    } else if (i % 40 == 20) {
      occupancy.Rollback();
      plain = committed;
    }
    if (i % 20 == 19) ExpectEqual(occupancy, plain, side);
  }
  EXPECT_GT(collisions, 100);
  EXPECT_LT(collisions, 500);
}

TEST(OccupancyTest, FollowsTheDefinitionAt32) { CompareWithDefinition(32, 1); }
TEST(OccupancyTest, FollowsTheDefinitionAt64) { CompareWithDefinition(64, 1); }
TEST(OccupancyTest, FollowsTheDefinitionAt128) {
  CompareWithDefinition(128, 2);
  CompareWithDefinition(128, 3);
}

}  // namespace
}  // namespace lra::pathfinder
