#include "eval/multiple.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lra {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;

using Pairs = std::vector<std::pair<int, int>>;

std::vector<std::string> Letters(int count, const Pairs& differing) {
  const std::vector<std::vector<int>> groups = LetterGroups(count, differing);
  int group_count = 0;
  for (const auto& of_row : groups) group_count = std::max(group_count, of_row.back() + 1);
  std::vector<std::string> letters;
  for (const auto& of_row : groups) letters.push_back(LetterText(of_row, group_count));
  return letters;
}

TEST(HolmTest, Golden) {
  const std::vector<double> p = {.001, .012, .02, .03, .2, .6};
  EXPECT_THAT(HolmP(p), Pointwise(DoubleNear(1e-15), {.006, .06, .08, .09, .4, .6}));
}

TEST(HolmTest, KeepsTheOrderItIsGivenAndCutsAtOne) {
  const std::vector<double> p = {.6, .001, .5};
  EXPECT_THAT(HolmP(p), Pointwise(DoubleNear(1e-15), {1.0, .003, 1.0}));
  EXPECT_THAT(HolmP({}), IsEmpty());
}

TEST(LettersTest, Golden) {
  EXPECT_THAT(Letters(4, {{0, 2}, {0, 3}, {1, 3}}), ElementsAre("a", "ab", "bc", "c"));
  EXPECT_THAT(Letters(3, {{0, 1}}), ElementsAre("a", "b", "ab"));
}

TEST(LettersTest, NoneAndAll) {
  EXPECT_THAT(Letters(3, {}), ElementsAre("a", "a", "a"));
  EXPECT_THAT(Letters(3, {{0, 1}, {0, 2}, {1, 2}}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Letters(1, {}), ElementsAre("a"));
}

// What letters promise, for every relation among five rows: two rows share one exactly if they do
// not differ, whatever the order of insertion.
TEST(LettersTest, SharingALetterIsNotDiffering) {
  Pairs all;
  for (int a = 0; a < 5; ++a) {
    for (int b = a + 1; b < 5; ++b) all.emplace_back(a, b);
  }
  for (int mask = 0; mask < 1 << 10; ++mask) {
    Pairs differing;
    for (int bit = 0; bit < 10; ++bit) {
      if (mask >> bit & 1) differing.push_back(all[bit]);
    }
    const auto groups = LetterGroups(5, differing);
    for (int bit = 0; bit < 10; ++bit) {
      const auto &a = groups[all[bit].first], &b = groups[all[bit].second];
      const bool shares = std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
      EXPECT_EQ(shares, (mask >> bit & 1) == 0) << mask;
    }
    std::reverse(differing.begin(), differing.end());
    EXPECT_EQ(LetterGroups(5, differing), groups) << mask;
  }
}

TEST(LettersTest, NumberedLettersBeyondTheAlphabet) {
  Pairs all;
  for (int a = 0; a < 27; ++a) {
    for (int b = a + 1; b < 27; ++b) all.emplace_back(a, b);
  }
  EXPECT_EQ(Letters(27, all).front(), "a");
  EXPECT_EQ(Letters(27, all).back(), "a2");
  EXPECT_EQ(LetterText({0, 1, 30, 52}, 53), "a,b,e2,a3");
}

// 2 k rows of which each differs from one other have 2^k largest sets.
TEST(LettersTest, ThereAreNoneWhereTheyWouldBeExponentiallyMany) {
  Pairs matching;
  for (int k = 0; k < 7; ++k) matching.emplace_back(2 * k, 2 * k + 1);
  EXPECT_EQ(Letters(14, matching).size(), 14u);  // 128 sets
  matching.emplace_back(14, 15);
  EXPECT_THAT(LetterGroups(16, matching), IsEmpty());  // 256
}

}  // namespace
}  // namespace lra
