#include "tasks/pathfinder/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lra::pathfinder {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(MetadataTest, ReadsTheReleasesLines) {
  const auto rows = ParseMetadata(
      "imgs/0 sample_0.png 0 0 1.0 6 2 2 0.5 1 1\n"
      "imgs/0 sample_7.png 7 1 1.0 14 4 2 0.5 1 1\n"
      "imgs/199 sample_999.png 999 1 1.8 14 4 5 1.5 2 1\n",
      "0.npy");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[0].path(), "imgs/0/sample_0.png");
  EXPECT_EQ((*rows)[0].label, 0);
  EXPECT_EQ((*rows)[1].path(), "imgs/0/sample_7.png");
  EXPECT_EQ((*rows)[1].label, 1);
  EXPECT_EQ((*rows)[2].batch, 199);
  EXPECT_EQ((*rows)[2].image, 999);
  EXPECT_EQ((*rows)[2].label, 1);
  EXPECT_EQ((*rows)[2].line, 3);
}

TEST(MetadataTest, TakesAnyWhiteSpaceAndSkipsEmptyLines) {
  const auto rows = ParseMetadata(
      "\n \t\r\n  imgs/2\tsample_10.png \v10\f 1\r\n\nimgs/2 sample_2147483647.png 2147483647 0",
      "x");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].path(), "imgs/2/sample_10.png");
  EXPECT_EQ((*rows)[0].line, 3);
  EXPECT_EQ((*rows)[1].path(), "imgs/2/sample_2147483647.png");
  EXPECT_EQ((*rows)[1].line, 5);
  EXPECT_TRUE(ParseMetadata("", "x")->empty());
  EXPECT_TRUE(ParseMetadata("\n\n", "x")->empty());
}

TEST(MetadataTest, NamesLineColumnAndValue) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"imgs/0 sample_0.png 0", "has 3 of at least 4 columns: imgs/<batch>,"},
      {"imgs/0", "has 1 of at least 4"},
      {"imgs sample_0.png 0 1", "column 1 is \"imgs\"; imgs/<batch>"},
      {"imgs/ sample_0.png 0 1", "column 1 is \"imgs/\""},
      {"imgs/00 sample_0.png 0 1", "column 1 is \"imgs/00\""},
      {"imgs/-1 sample_0.png 0 1", "column 1 is \"imgs/-1\""},
      {"imgs/+1 sample_0.png 0 1", "column 1 is \"imgs/+1\""},
      {"imgs/2147483648 sample_0.png 0 1", "column 1 is \"imgs/2147483648\""},
      {"imgs/99999999999999999999 sample_0.png 0 1", "column 1"},
      {"/imgs/0 sample_0.png 0 1", "column 1 is \"/imgs/0\""},
      {"../imgs/0 sample_0.png 0 1", "column 1 is \"../imgs/0\""},
      {"imgs/../0 sample_0.png 0 1", "column 1 is \"imgs/../0\""},
      {"imgs/0/.. sample_0.png 0 1", "column 1 is \"imgs/0/..\""},
      {"imgs/0/ sample_0.png 0 1", "column 1 is \"imgs/0/\""},
      {"\xef\xbb\xbfimgs/0 sample_0.png 0 1", "column 1 is \"\\xef\\xbb\\xbfimgs/0\""},
      {std::string("imgs/0\0 sample_0.png 0 1", 24), "column 1 is \"imgs/0\\x00\""},
      {"imgs/0 ../sample_0.png 0 1", "column 2 is \"../sample_0.png\""},
      {"imgs/0 sample_../0.png 0 1", "column 2 is \"sample_../0.png\""},
      {"imgs/0 sample_0.jpg 0 1", "column 2 is \"sample_0.jpg\"; sample_<image>.png"},
      {"imgs/0 sample_.png 0 1", "column 2 is \"sample_.png\""},
      {"imgs/0 sample_1e2.png 100 1", "column 2 is \"sample_1e2.png\""},
      {"imgs/0 sample_0x1.png 1 1", "column 2"},
      {"imgs/0 sample_7.png 8 1", "column 3 is \"8\"; 7, the number in sample_7.png, is"},
      {"imgs/0 sample_7.png 7.0 1", "column 3 is \"7.0\""},
      {"imgs/0 sample_7.png 7 2", "column 4 is \"2\"; a label 0 or 1 is expected"},
      {"imgs/0 sample_7.png 7 1.0", "column 4 is \"1.0\""},
      {"imgs/0 sample_7.png 7 -1", "column 4 is \"-1\""},
      {"imgs/0 sample_7.png 7 01", "column 4 is \"01\""},
      {"imgs/" + std::string(1000, '9') + " sample_7.png 7 1", "9\"...; imgs/"},
  };
  for (const auto& [line, words] : table) {
    const auto rows =
        ParseMetadata(absl::StrCat("imgs/0 sample_0.png 0 0\n\n", line, "\n"), "metadata/0.npy");
    EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument) << line;
    const std::string message(rows.status().message());
    EXPECT_THAT(message, StartsWith("metadata/0.npy:3: "));
    EXPECT_THAT(message, HasSubstr(words));
    EXPECT_LT(message.size(), 300u);
  }
}

TEST(MetadataTest, SaysWhatARealNumpyFileIs) {
  const auto rows = ParseMetadata(std::string("\x93NUMPY\x01\x00v\x00{'descr'", 18), "0.npy");
  EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(rows.status().message()), StartsWith("0.npy: is a NumPy array; the"));
}

// A file that was cut off gives rows of the whole one or an error, never another row.
TEST(MetadataTest, NoCutMakesAnotherRow) {
  const std::string text = "imgs/12 sample_34.png 34 1 1.0\nimgs/12 sample_35.png 35 0 1.0\n";
  for (size_t size = 0; size < text.size(); ++size) {
    const auto rows = ParseMetadata(text.substr(0, size), "x");
    if (!rows.ok()) continue;
    ASSERT_LE(rows->size(), 2u);
    if (!rows->empty()) {
      EXPECT_EQ((*rows)[0].path(), "imgs/12/sample_34.png");
      EXPECT_EQ((*rows)[0].label, 1);
    }
    if (rows->size() == 2) {
      EXPECT_EQ((*rows)[1].path(), "imgs/12/sample_35.png");
      EXPECT_EQ((*rows)[1].label, 0);
    }
  }
}

}  // namespace
}  // namespace lra::pathfinder
