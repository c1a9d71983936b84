#include "tasks/retrieval/pair_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lra::retrieval {
namespace {

using testing::HasSubstr;

TEST(PairLineTest, ReadsTheFiveColumns) {
  const std::string line = "1.0\tP11-1001\tW05-0206\tb'1 Introduction\\n'\tb\"It's plain\"";
  const auto pair = ParsePairLine(line);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->label, 1);
  EXPECT_EQ(pair->id1, "P11-1001");
  EXPECT_EQ(pair->id2, "W05-0206");
  EXPECT_EQ(pair->text1, "b'1 Introduction\\n'");
  EXPECT_EQ(pair->text2, "b\"It's plain\"");
  EXPECT_EQ(pair->text2.data() + pair->text2.size(), line.data() + line.size());
}

TEST(PairLineTest, ReadsLabelsOfEverySpelling) {
  const std::vector<std::pair<std::string, int>> table = {{"0", 0},   {"1", 1},  {"0.0", 0},
                                                          {"1.0", 1}, {"0.", 0}, {"1.000000", 1}};
  for (const auto& [text, label] : table) {
    const auto pair = ParsePairLine(absl::StrCat(text, "\ta\tb\tc\td"));
    ASSERT_TRUE(pair.ok()) << pair.status();
    EXPECT_EQ(pair->label, label) << text;
  }
}

TEST(PairLineTest, KeepsBytesThatAreNoText) {
  const std::string first("\0\xff\xfe\r\"'", 6), second = std::string(5 << 20, 'x') + "\xc3\r";
  const std::string line = absl::StrCat("0\ta\tb\t", first, "\t", second);
  const auto pair = ParsePairLine(line);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->text1, first);
  EXPECT_EQ(pair->text2, second);
}

TEST(PairLineTest, NamesColumnByteAndValue) {
  const std::string label = "column 1 (byte 1), label, is ";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "the line has 1 column; 5 with one tab"},
      {"1.0", "the line has 1 column;"},
      {"1.0\ta\tb\tc", "the line has 4 columns; 5"},
      {"1.0\ta\tb\tc\td\te", "the line has 6 columns; 5"},
      {"1.0\ta\tb\tc\td\t", "the line has 6 columns; 5"},
      {"1.0 a b c d", "the line has 1 column;"},
      {"\ta\tb\tc\td", label + "\"\"; 0 or 1"},
      {"2\ta\tb\tc\td", label + "\"2\"; 0 or 1, or 0.0 or 1.0, is expected"},
      {"0.5\ta\tb\tc\td", label + "\"0.5\""},
      {"1.0000001\ta\tb\tc\td", label + "\"1.0000001\""},
      {"-0\ta\tb\tc\td", label + "\"-0\""},
      {"+1\ta\tb\tc\td", label + "\"+1\""},
      {"01\ta\tb\tc\td", label + "\"01\""},
      {"1e0\ta\tb\tc\td", label + "\"1e0\""},
      {"1.0.\ta\tb\tc\td", label + "\"1.0.\""},
      {" 1\ta\tb\tc\td", label + "\" 1\""},
      {"1 \ta\tb\tc\td", label + "\"1 \""},
      {"nan\ta\tb\tc\td", label + "\"nan\""},
      {"True\ta\tb\tc\td", label + "\"True\""},
      {"\xef\xbb\xbf"
       "1\ta\tb\tc\td",
       label + "\"\\xef\\xbb\\xbf"},
      {std::string("1\0\ta\tb\tc\td", 10), label + "\"1\\x00\""},
      {std::string(100000, '1') + "\ta\tb\tc\td", "111\"...; 0 or 1"},
      {"1.0\t\tb\tc\td", "column 2 (byte 5), id 1, is empty"},
      {"1.0\ta\t\tc\td", "column 3 (byte 7), id 2, is empty"},
      {"1.0\ta\tb\t\td", "column 4 (byte 9), text 1, is empty"},
      {"1.0\ta\tb\tc\t", "column 5 (byte 11), text 2, is empty"},
      {"1.0\t\t\t\t", "column 2 (byte 5), id 1, is empty"},
  };
  for (const auto& [line, words] : table) {
    const auto pair = ParsePairLine(line);
    EXPECT_EQ(pair.status().code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(pair.status().message()), HasSubstr(words));
    EXPECT_LT(pair.status().message().size(), 300u);
  }
}

}  // namespace
}  // namespace lra::retrieval
