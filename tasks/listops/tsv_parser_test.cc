#include "tasks/listops/tsv_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lra/random.h"
#include "tasks/listops/oracle.h"
#include "tasks/listops/vocabulary.h"

namespace lra::listops {
namespace {

using testing::HasSubstr;

std::string Text(const std::vector<uint16_t>& tokens) {
  std::string text;
  for (uint16_t token : tokens) {
    absl::StrAppend(&text, text.empty() ? "" : " ", kTokenNames[token]);
  }
  return text;
}

TEST(TsvParserTest, ReadsTheOriginalsCases) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"( ( ( [MAX 2 ) 9 ) ] )", "9", "[MAX 2 9 ]"},
      {"( ( ( [MED 1 ) 2 ) ] )", "1", "[MED 1 2 ]"},
      {"( ( ( ( [MED 4 ) 9 ) 7 ) ] )", "7", "[MED 4 9 7 ]"},
      {"( ( ( ( ( [MED 3 ) 6 ) 8 ) 9 ) ] )", "7", "[MED 3 6 8 9 ]"},
      {"( ( ( ( [SM 9 ) 9 ) 5 ) ] )", "3", "[SM 9 9 5 ]"},
      {"( ( ( ( [MIN 4 ) ( ( ( [SM 7 ) 8 ) ] ) ) 6 ) ] )", "4", "[MIN 4 [SM 7 8 ] 6 ]"},
      {"( ( ( ( ( [MED ( ( ( [MAX 0 ) 3 ) ] ) ) 9 ) ( ( ( [SM 5 ) 5 ) ] ) ) 8 ) ] )", "5",
       "[MED [MAX 0 3 ] 9 [SM 5 5 ] 8 ]"},
      {"( ( ( ( [MAX 2 ) ( ( ( [SM 3 ) 4 ) ] ) ) 7 ) ] )", "7", "[MAX 2 [SM 3 4 ] 7 ]"},
      {"3", "3", "3"},
  };
  for (const auto& [source, target, text] : cases) {
    const auto example = ParseTsvLine(absl::StrCat(source, "\t", target));
    ASSERT_TRUE(example.ok()) << source << ": " << example.status();
    EXPECT_EQ(Text(example->tokens), text);
    EXPECT_EQ(std::to_string(example->label), target);
    EXPECT_EQ(*Evaluate(example->tokens), example->label);
  }
}

TEST(TsvParserTest, NamesColumnAndWord) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "not two columns"},
      {"( ( ( [MAX 2 ) 9 ) ] )", "not two columns"},
      {"( ( ( [MAX 2 ) 9 ) ] )\t9\t9", "not two columns"},
      {"( ( ( [MAX 2 ) 9 ) ] )\t", "column 24: the label is \"\"; a digit"},
      {"( ( ( [MAX 2 ) 9 ) ] )\t10", "the label is \"10\""},
      {"( ( ( [MAX 2 ) 9 ) ] )\t-1", "the label is \"-1\""},
      {"( ( ( [MAX 2 ) 9 ) ] )\tx", "the label is \"x\""},
      {"( ( ( [MAX 2 ) 9 ) ] )\t9 ", "the label is \"9 \""},
      {"\t9", "column 1: \"\" where a digit or \"(\""},
      {"( ( ( [MAX 2 ) 9 ) ]\t9", "\"the end\" where \")\" is expected"},
      {"( ( ( [MAX 2 ) 9 ) ] ) )\t9", "column 24: \")\" where the end of the expression"},
      {"( ( ( [MAX 2 ) ] )\t2", "column 16: \"]\" where a digit or \"(\""},
      {"( ( ( [MAX 2 ) 9 ) 3 ) ] )\t9", "column 20: \"3\" where \"]\" is expected"},
      {"( ( ( [MAX 2 9 ) ) ] )\t9", "column 14: \"9\" where \")\" is expected"},
      {"( ( [MAX 2 ) ] )\t2", "column 5: \"[MAX\" where \"(\" (an operator has at least two"},
      {"( 3 )\t3", "column 3: \"3\""},
      {"( ( ( [MAX  2 ) 9 ) ] )\t9", "column 12: \"\" where"},
      {" 3\t3", "column 1: \"\""},
      {"( ( ( [AVG 2 ) 9 ) ] )\t9", "column 7: \"[AVG\" where \"(\" or an operator"},
      {"( ( ( [MAX 2 ) 12 ) ] )\t9", "column 16: \"12\""},
      {"( ( ( [MAX 2 ) \xff\xfe ) ] )\t9", "\"\\xff\\xfe\""},
      {std::string("( ( ( [MAX 2 ) \0 ) ] )\t9", 24), "\"\\x00\""},
  };
  for (const auto& [line, words] : table) {
    const auto example = ParseTsvLine(line);
    EXPECT_EQ(example.status().code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(std::string(example.status().message()), HasSubstr(words)) << line;
  }
}

// What is accepted is a tree: damage to a good line is found, or it makes another good line.
TEST(TsvParserTest, AcceptsOnlyTrees) {
  const std::string good =
      "( ( ( ( ( [MED ( ( ( [MAX 0 ) 3 ) ] ) ) 9 ) ( ( ( [SM 5 ) 5 ) ] ) ) 8 ) ] )\t5";
  const std::string alphabet = "()[] 0123456789MAXINEDS\t";
  RandomStream random(4, RandomDomain::kTest, {0, 0, 0});
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string line = good;
    for (int64_t edits = random.Between(1, 3); edits > 0; --edits) {
      const size_t at = random.Below(static_cast<uint32_t>(line.size()));
      switch (random.Below(3)) {
        case 0:
          line.erase(at, 1 + random.Below(3));
          break;
        case 1:
          line.insert(at, 1, alphabet[random.Below(static_cast<uint32_t>(alphabet.size()))]);
          break;
        default:
          line[at] = alphabet[random.Below(static_cast<uint32_t>(alphabet.size()))];
      }
      if (line.empty()) line = "x";
    }
    const auto example = ParseTsvLine(line);
    refused += !example.ok();
    EXPECT_TRUE(!example.ok() || Evaluate(example->tokens).ok()) << line;
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace lra::listops
