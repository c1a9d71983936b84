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

}  // namespace
}  // namespace lra
