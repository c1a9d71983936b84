#include "tasks/text/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace lra::text {
namespace {

using testing::Each;

RandomStream Stream(uint32_t seed) { return RandomStream(seed, RandomDomain::kTest, {0, 0, 0}); }

// Checks what Match promises; returns how many have a partner.
int CheckMatch(const std::vector<Matchable>& items, const std::vector<int64_t>& partners) {
  EXPECT_EQ(partners.size(), items.size());
  std::set<int64_t> matched, used;
  for (size_t i = 0; i < items.size(); ++i) {
    if (partners[i] < 0) continue;
    matched.insert(static_cast<int64_t>(i));
    EXPECT_TRUE(used.insert(partners[i]).second) << partners[i] << " is the partner of two";
    EXPECT_EQ(items[i].group, items[partners[i]].group);
    EXPECT_NE(items[i].kind, items[partners[i]].kind);
  }
  EXPECT_EQ(matched, used);
  return static_cast<int>(matched.size());
}

TEST(MatchingTest, PartnersAreOfOneGroupAndTwoKinds) {
  std::vector<Matchable> items;
  for (int64_t i = 0; i < 1000; ++i) items.push_back({.group = i % 3, .kind = i * i % 41});
  EXPECT_EQ(CheckMatch(items, Match(items, Stream(0))), 1000);
  EXPECT_EQ(Match(items, Stream(0)), Match(items, Stream(0)));
  EXPECT_NE(Match(items, Stream(0)), Match(items, Stream(1)));
}

// Half of a group of one kind is the most that can be matched, and leaves no choice of kinds.
TEST(MatchingTest, OfTooManyOfOneKindAsFewAsCanBeAreLeftOut) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::vector<Matchable> items(40, {.group = 1, .kind = 5});
    for (int64_t i = 0; i < 15; ++i) items.push_back({.group = 1, .kind = 10 + i % 4});
    const std::vector<int64_t> partners = Match(items, Stream(seed));
    EXPECT_EQ(CheckMatch(items, partners), 30);
    EXPECT_EQ(std::count(partners.begin() + 40, partners.end(), -1), 0);
  }
  EXPECT_THAT(Match(std::vector<Matchable>(9, {.group = 1, .kind = 5}), Stream(0)), Each(-1));
  EXPECT_TRUE(Match({}, Stream(0)).empty());
}

// Three of three kinds can be matched in two ways.
TEST(MatchingTest, EveryWayIsTakenAsOften) {
  const std::vector<Matchable> items = {{0, 1}, {0, 2}, {0, 3}};
  int first = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) first += Match(items, Stream(seed))[0] == 1 ? 1 : 0;
  EXPECT_NEAR(first, 200, 40);  // four standard deviations
}

}  // namespace
}  // namespace lra::text
