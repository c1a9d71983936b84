#include "tasks/text/table_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lra::text {
namespace {

using testing::HasSubstr;

CsvRow Row(std::string a, std::string b, int64_t line = 1) {
  return CsvRow{{std::move(a), std::move(b)}, line};
}

TEST(TableRowTest, ReadsLabels) {
  for (const char* word : {"0", "neg", "negative"}) EXPECT_EQ(ParseLabel(word), 0) << word;
  for (const char* word : {"1", "pos", "positive"}) EXPECT_EQ(ParseLabel(word), 1) << word;
  for (const char* word :
       {"", "2", "-1", "00", "1.0", " 1", "1 ", "Positive", "NEG", "posi", "unsup"})
    EXPECT_EQ(ParseLabel(word), std::nullopt) << word;
}

TEST(TableRowTest, FindsTheLabel) {
  struct Case {
    CsvRow first;
    int label_column;
    bool has_header;
  };
  const std::vector<Case> table = {
      {Row("review", "sentiment"), 1, true},  // Kaggle's IMDB Dataset.csv
      {Row("label", "sentence"), 0, true},
      {Row("sentence", "label"), 1, true},  // GLUE's SST-2
      {Row("Label", " TEXT "), 0, true},
      {Row("label", "phrase"), 0, true},
      {Row("opinion", "document"), 0, true},
      {Row("0", "label"), 0, false},  // a text that consists of one word
      {Row("text", "pos"), 1, false},
      {Row("Some film, some text.", "negative"), 1, false},
      {Row("1", "One of the others"), 0, false},
      {Row("neg", ""), 0, false},
  };
  for (const Case& c : table) {
    const auto layout = DetectLayout(c.first);
    ASSERT_TRUE(layout.ok()) << layout.status();
    EXPECT_EQ(layout->label_column, c.label_column) << c.first.fields[0];
    EXPECT_EQ(layout->has_header, c.has_header) << c.first.fields[0];
  }
}

TEST(TableRowTest, SaysWhyTheLabelCannotBeFound) {
  const std::vector<std::pair<CsvRow, std::string>> table = {
      {Row("1", "0", 3), "line 3: both \"1\" and \"0\" are labels; a header"},
      {Row("pos", "neg"), "line 1: both \"pos\" and \"neg\" are labels"},
      {Row("a", "b"), "line 1: cannot tell label from text: the first row is \"a\", \"b\""},
      {Row("label", "sentiment"), "cannot tell label from text"},
      {Row("text", "review"), "cannot tell label from text"},
      {Row("5", "A five-star film"), "cannot tell label from text: the first row is \"5\", \"A"},
      {Row("", ""), "the first row is \"\", \"\""},
      {Row(std::string(9999, 'x'), "\n\xff"), "xxx\"..., \"\\n\\xff\""},
  };
  for (const auto& [row, words] : table) {
    const auto layout = DetectLayout(row);
    EXPECT_EQ(layout.status().code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(layout.status().message()), HasSubstr(words));
    EXPECT_LT(layout.status().message().size(), 400u);
  }
}

TEST(TableRowTest, TakesLabelAndText) {
  const auto example = ParseTableRow({1, true}, Row("A film.", "positive", 7));
  ASSERT_TRUE(example.ok()) << example.status();
  EXPECT_EQ(example->label, 1);
  EXPECT_EQ(example->text, "A film.");
  EXPECT_EQ(example->line, 7);
  EXPECT_EQ(ParseTableRow({0, false}, Row("neg", "1"))->label, 0);
}

TEST(TableRowTest, NamesLineColumnAndValue) {
  const std::vector<std::pair<absl::StatusOr<LabelledText>, std::string>> table = {
      {ParseTableRow({1, true}, Row("A film.", "Positive", 7)),
       "line 7: the label in column 2 is \"Positive\"; 0, neg, negative or 1, pos, positive is"},
      {ParseTableRow({0, false}, Row("2", "A film.", 8)), "line 8: the label in column 1 is \"2\""},
      {ParseTableRow({0, false}, Row("", "A film.", 9)), "line 9: the label in column 1 is \"\""},
      {ParseTableRow({0, false}, Row("1", "", 10)), "line 10: the text in column 2 is empty"},
      {ParseTableRow({1, false}, Row("", "1", 11)), "line 11: the text in column 1 is empty"},
      {ParseTableRow({1, false}, Row("1", std::string(99999, 'x'), 12)), "xx\"...; 0, neg"},
  };
  for (const auto& [example, words] : table) {
    EXPECT_EQ(example.status().code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(example.status().message()), HasSubstr(words));
    EXPECT_LT(example.status().message().size(), 200u);
  }
}

}  // namespace
}  // namespace lra::text
