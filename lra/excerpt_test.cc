#include "lra/excerpt.h"

#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(ExcerptTest, QuotesEscapesAndCuts) {
  EXPECT_EQ(Excerpt(""), "\"\"");
  EXPECT_EQ(Excerpt("plain"), "\"plain\"");
  EXPECT_EQ(Excerpt(absl::string_view("a\"\\\n\0\xff", 6)), "\"a\\\"\\\\\\n\\x00\\xff\"");
  EXPECT_EQ(Excerpt("abcd", 4), "\"abcd\"");
  EXPECT_EQ(Excerpt("abcde", 4), "\"abcd\"...");
  EXPECT_EQ(Excerpt(std::string(1000, '\x01')).size(), 4 * 40 + 5u);
}

TEST(QuotedNameTest, KeepsLettersAndCutsBetweenCodePoints) {
  EXPECT_EQ(QuotedName(""), "\"\"");
  EXPECT_EQ(QuotedName("caf\xc3\xa9 \"a\"\n\x01"), "\"caf\xc3\xa9 \\\"a\\\"\\n\\x01\"");
  EXPECT_EQ(QuotedName("caf\xc3\xa9", 5), "\"caf\xc3\xa9\"");
  EXPECT_EQ(QuotedName("caf\xc3\xa9", 4), "\"caf\"...");
  EXPECT_EQ(QuotedName("caf\xc3\xa9", 3), "\"caf\"...");
  EXPECT_EQ(QuotedName("\xe2\x82\xac", 2), "\"\"...");
  EXPECT_EQ(QuotedName(std::string(1000, 'x')).size(), 1002u);
}

}  // namespace
}  // namespace lra
