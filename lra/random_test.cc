// The pinned numbers were computed by an independent implementation of Philox and of the
// distributions (Python, with integers of any size). They are part of the data formats: changing
// one makes a new format.
#include "lra/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

using testing::ElementsAre;

RandomStream Stream() { return RandomStream(42, RandomDomain::kTest, {1, 2, 3}); }

template <class Draw>
auto Draws(int n, Draw draw) {
  RandomStream stream = Stream();
  std::vector<decltype(draw(stream))> values;
  for (int i = 0; i < n; ++i) values.push_back(draw(stream));
  return values;
}

// The answers are from Random123, file kat_vectors, "philox4x32 10".
TEST(PhiloxTest, GivesTheKnownAnswers) {
  EXPECT_THAT(Philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(RandomStreamTest, FirstWordsArePinned) {
  EXPECT_THAT(Draws(6, [](RandomStream& s) { return s.Next32(); }),
              ElementsAre(0xf52d07b7, 0x71e52d99, 0x6d1c8bda, 0x7637766e, 0xc07b708c, 0x4736adb8));
  EXPECT_THAT(Draws(2, [](RandomStream& s) { return s.Next64(); }),
              ElementsAre(0x71e52d99f52d07b7, 0x7637766e6d1c8bda));
}

TEST(RandomStreamTest, FirstIntegersArePinned) {
  EXPECT_THAT(Draws(16, [](RandomStream& s) { return s.Below(10); }),
              ElementsAre(9, 4, 4, 4, 7, 2, 0, 6, 2, 6, 6, 8, 0, 2, 3, 3));
  // A quarter of the words is rejected under this bound.
  EXPECT_THAT(Draws(4, [](RandomStream& s) { return s.Below(0xC0000001); }),
              ElementsAre(1372940515, 1487509714, 2421986409, 896074314));
  EXPECT_THAT(Draws(8, [](RandomStream& s) { return s.Between(-5, 5); }),
              ElementsAre(5, -1, -1, 0, 3, -2, -5, 2));
}

TEST(RandomStreamTest, FirstRealsArePinned) {
  EXPECT_THAT(Draws(3, [](RandomStream& s) { return s.Uniform(); }),
              ElementsAre(0x1.c794b667d4b40p-2, 0x1.d8ddd9b9b4722p-2, 0x1.1cdab6e301edcp-2));
  const std::vector<double> normals = Draws(3, [](RandomStream& s) { return s.Normal(); });
  EXPECT_DOUBLE_EQ(normals[0], -1.0538711594644636);
  EXPECT_DOUBLE_EQ(normals[1], -0.4932084506339473);
  EXPECT_DOUBLE_EQ(normals[2], 0.600083017072693);
}

TEST(RandomStreamTest, PermutationIsPinnedAndComplete) {
  EXPECT_THAT(Permutation(10, Stream()), ElementsAre(2, 6, 5, 0, 1, 8, 7, 3, 4, 9));
  std::vector<int64_t> order = Permutation(1000, Stream());
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(order[i], i);
  EXPECT_TRUE(Permutation(0, Stream()).empty());
}

TEST(RandomStreamTest, NamesHashToTheFirstEightBytesOfTheirSha256) {
  EXPECT_EQ(HashName("encoder.layer0.attention.query.weight"), 0x3a5c32bb28324f51);
}

uint32_t Number(RandomDomain domain) { return static_cast<uint32_t>(domain); }

// They are in canonical data and in every trained result: none may ever change.
TEST(RandomDomainTest, NumbersGivenOutByHandArePinned) {
  EXPECT_EQ(Number(RandomDomain("listops")), 1u);
  EXPECT_EQ(Number(RandomDomain::kInitialWeights), 2u);
  EXPECT_EQ(Number(RandomDomain::kDropout), 3u);
  EXPECT_EQ(Number(RandomDomain::kExampleOrder), 4u);
  EXPECT_EQ(Number(RandomDomain("pathfinder")), 5u);
  EXPECT_EQ(Number(RandomDomain::kHoldout), 6u);
  EXPECT_EQ(Number(RandomDomain::kSample), 7u);
  EXPECT_EQ(Number(RandomDomain::kAttentionNoise), 8u);
  EXPECT_EQ(Number(RandomDomain::kHiddenTokens), 9u);
  EXPECT_EQ(Number(RandomDomain::kPretrainOrder), 10u);
  EXPECT_EQ(Number(RandomDomain::kTest), 1000u);
}

TEST(RandomDomainTest, AtASiteTheLowByteStaysTheDomains) {
  EXPECT_EQ(Number(RandomDomain::kAttentionNoise.AtSite(0)), 8u);
  EXPECT_EQ(Number(RandomDomain::kAttentionNoise.AtSite(5)), 5u * 256 + 8);
}

// By sha256sum: "parity" gives 65 96 6f 0f ..., "sorting" df 7e 86 5c ...
TEST(RandomDomainTest, ANamesNumberIsTheBeginningOfItsSha256WithBitFourSet) {
  EXPECT_EQ(Number(RandomDomain("parity")), 0x0f6f9675u);
  EXPECT_EQ(Number(RandomDomain("sorting")), 0x5c867edfu);
}

// Numbers given out by hand, and keys of dropout and noise (site << 8 | a small number), have a
// clear bit 4.
TEST(RandomDomainTest, ANameMeetsNoNumberGivenOutByHand) {
  for (int i = 0; i < 10000; ++i) {
    const uint32_t number = Number(RandomDomain(absl::StrCat("task", i)));
    ASSERT_NE(number & 16, 0u);
    ASSERT_GT(number & 255, Number(RandomDomain::kPretrainOrder));
    ASSERT_NE(number, Number(RandomDomain::kTest));
  }
}

TEST(RandomStreamTest, EveryPartOfTheKeyMatters) {
  const uint32_t first = Stream().Next32();
  EXPECT_NE(RandomStream(43, RandomDomain::kTest, {1, 2, 3}).Next32(), first);
  EXPECT_NE(RandomStream(42, RandomDomain::kDropout, {1, 2, 3}).Next32(), first);
  EXPECT_NE(RandomStream(42, RandomDomain::kTest, {0, 2, 3}).Next32(), first);
  EXPECT_NE(RandomStream(42, RandomDomain::kTest, {1, 0, 3}).Next32(), first);
  EXPECT_NE(RandomStream(42, RandomDomain::kTest, {1, 2, 0}).Next32(), first);
}

// Chi-square statistic of n draws over equal cells.
template <class Cell>
double ChiSquare(int cells, int n, Cell cell) {
  RandomStream stream = Stream();
  std::vector<double> count(cells);
  for (int i = 0; i < n; ++i) ++count[cell(stream)];
  const double expected = static_cast<double>(n) / cells;
  double sum = 0;
  for (double c : count) sum += (c - expected) * (c - expected) / expected;
  return sum;
}

// Limits are 99.9 % quantiles of the chi-square distribution: 27.88, 16.27 and 13.82 for 9, 3 and 2
// degrees of freedom. The draws are fixed, so the tests cannot flicker.
TEST(RandomStreamTest, BelowIsUniform) {
  EXPECT_LT(ChiSquare(10, 100000, [](RandomStream& s) { return s.Below(10); }), 27.88);
}

// Without rejection, values that are 0 modulo 3 would come twice as often under this bound (3/4 of
// 2^32).
TEST(RandomStreamTest, BelowIsUniformWhereTheBoundDoesNotDivideTheRange) {
  EXPECT_LT(ChiSquare(4, 100000, [](RandomStream& s) { return s.Below(0xC0000000) % 4; }), 16.27);
  EXPECT_LT(ChiSquare(3, 90000, [](RandomStream& s) { return s.Below(0xC0000000) % 3; }), 13.82);
}

TEST(RandomStreamTest, UniformIsUniformAndBelowOne) {
  EXPECT_LT(ChiSquare(10, 100000,
                      [](RandomStream& s) {
                        const double u = s.Uniform();
                        EXPECT_TRUE(u >= 0 && u < 1);
                        return static_cast<int>(u * 10);
                      }),
            27.88);
}

// Ten cells of equal probability under the normal distribution.
TEST(RandomStreamTest, NormalIsNormal) {
  EXPECT_LT(ChiSquare(10, 100000,
                      [](RandomStream& s) {
                        const double p = 0.5 * std::erfc(-s.Normal() / std::sqrt(2.0));
                        return std::min(9, static_cast<int>(p * 10));
                      }),
            27.88);
}

}  // namespace
}  // namespace lra
