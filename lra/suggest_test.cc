#include "lra/suggest.h"

#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(SuggestTest, EditDistanceCountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("steps", "steps"), 0);
  EXPECT_EQ(EditDistance("step", "steps"), 1);
  EXPECT_EQ(EditDistance("stepps", "steps"), 1);
  EXPECT_EQ(EditDistance("stops", "steps"), 1);
  EXPECT_EQ(EditDistance("setps", "steps"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
}

TEST(SuggestTest, NearestGivesUpWhenNothingIsNear) {
  EXPECT_EQ(Nearest("lineer", {"transformer", "linear", "cosformer"}), "linear");
  EXPECT_EQ(Nearest("cosfromer", {"transformer", "linear", "cosformer"}), "cosformer");
  EXPECT_EQ(Nearest("reformer_with_hashing", {"transformer", "linear"}), "");
  EXPECT_EQ(Nearest("linear", {}), "");
}

TEST(SuggestTest, TheLimitIsTwoOrAThirdOfTheName) {
  EXPECT_EQ(Nearest("abcd", {"abxy"}), "abxy");
  EXPECT_EQ(Nearest("abcd", {"axyz"}), "");
  EXPECT_EQ(Nearest("abcdefghi", {"abcdefxyz"}), "abcdefxyz");
  EXPECT_EQ(Nearest("abcdefgh", {"abcdexyz"}), "");
}

TEST(SuggestTest, BeginningsAndOtherNamesComeFirst) {
  EXPECT_EQ(Nearest("cosformer", {"skyformer", "cosformer2022"}), "cosformer2022");
  EXPECT_EQ(Nearest("softmax", {"softmin", "transformer"}), "transformer");
  EXPECT_EQ(Nearest("softmax", {"softmin"}), "softmin");
  EXPECT_EQ(Nearest("imdb", {"image", "text"}), "text");
  EXPECT_EQ(Nearest("co", {"copying"}), "");
}

TEST(SuggestTest, TheFirstOfEqualsWins) { EXPECT_EQ(Nearest("bat", {"cat", "rat"}), "cat"); }

TEST(SuggestTest, TheErrorNamesNearestAndKnown) {
  EXPECT_EQ(UnknownNameError("task", "listop", {"image", "listops"}).message(),
            "unknown task \"listop\"; did you mean \"listops\"? Known: image, listops");
  EXPECT_EQ(UnknownNameError("task", "weather", {"image", "listops"}).message(),
            "unknown task \"weather\". Known: image, listops");
  EXPECT_EQ(UnknownNameError("task", "weather", {}).message(),
            "unknown task \"weather\". Known: none");
  EXPECT_EQ(UnknownNameError("task", "x", {}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lra
