#include "lra/byte_difference.h"

#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(ByteDifferenceTest, EqualBytesDoNotDiffer) {
  EXPECT_FALSE(FirstDifference("", ""));
  EXPECT_FALSE(FirstDifference("a\nb", "a\nb"));
}

TEST(ByteDifferenceTest, TheFirstIsNamedWithItsLine) {
  const auto difference = FirstDifference("one\nt7o\nx", "one\ntwo\ny");
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->offset_bytes, 5);
  EXPECT_EQ(difference->line, 2);
  EXPECT_EQ(DescribeBytes(*difference), "byte 5 is 0x37 (\"7\"), expected 0x77 (\"w\")");
}

TEST(ByteDifferenceTest, AnEndIsNothing) {
  EXPECT_EQ(DescribeBytes(*FirstDifference("ab", "ab\n")), "byte 2 is nothing, expected 0x0a");
  EXPECT_EQ(DescribeBytes(*FirstDifference("abc", "ab")),
            "byte 2 is 0x63 (\"c\"), expected nothing");
}

}  // namespace
}  // namespace lra
