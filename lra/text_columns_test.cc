#include "lra/text_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CountCharacters, CountsCodePointsNotBytes) {
  EXPECT_EQ(CountCharacters(""), 0u);
  EXPECT_EQ(CountCharacters("abc"), 3u);
  EXPECT_EQ(CountCharacters("\u00e4\u20ac\U0001F600"), 3u);  // 2, 3 and 4 bytes
  EXPECT_EQ(CountCharacters("e\u0301"), 2u);                 // a letter and its accent
  EXPECT_EQ(CountCharacters("\xff"), 1u);                    // no UTF-8
}

TEST(EndOfCharacters, LiesBetweenCharacters) {
  EXPECT_EQ(EndOfCharacters("abc", 2), 2u);
  EXPECT_EQ(EndOfCharacters("\u00e4\u00f6b", 1), 2u);
  EXPECT_EQ(EndOfCharacters("\u00e4\u00f6b", 2), 4u);
  EXPECT_EQ(EndOfCharacters("\u00e4\u00f6b", 9), 5u);
  EXPECT_EQ(EndOfCharacters("abc", 0), 0u);
}

TEST(Pad, FillsUpToAWidthInCharacters) {
  EXPECT_EQ(PadRight("\u00e4b", 4), "\u00e4b  ");
  EXPECT_EQ(PadLeft("\u00e4b", 4), "  \u00e4b");
  EXPECT_EQ(PadRight("abcde", 4), "abcde");
  EXPECT_EQ(PadLeft("abcde", 4), "abcde");
}

TEST(ColumnWidths, OfLinesThatEndEarly) {
  EXPECT_THAT(ColumnWidths({{"a"}, {"\u00e4\u00f6", "c"}}), ElementsAre(2, 1));
  EXPECT_THAT(ColumnWidths({{"a"}, {"abcd", "c"}}, 3), ElementsAre(4, 3));
  EXPECT_THAT(ColumnWidths({}), IsEmpty());
}

TEST(AlignedText, CellsStandBelowEachOther) {
  EXPECT_EQ(AlignedText({{"run", "step"}, {"\u00e4b", "5"}, {"longer", ""}, {"x"}}),
            "run     step\n"
            "\u00e4b      5\n"
            "longer\n"
            "x\n");
  EXPECT_EQ(AlignedText({{"", ""}}), "\n");
}

}  // namespace
}  // namespace lra
