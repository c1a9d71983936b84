#include "tasks/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "lra/random.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<std::vector<CsvRow>> ReadAll(TableDialect dialect, int columns,
                                            absl::string_view file, size_t block_bytes) {
  CsvReader reader(dialect, columns);
  std::vector<CsvRow> rows;
  for (; !file.empty(); file.remove_prefix(std::min(block_bytes, file.size()))) {
    // Each block is a copy, so that a sanitizer notices a view that is used for too long.
    const std::string block(file.substr(0, block_bytes));
    reader.Feed(block);
    while (true) {
      LRA_ASSIGN_OR_RETURN(std::optional<CsvRow> row, reader.Next());
      if (!row.has_value()) break;
      rows.push_back(*std::move(row));
    }
  }
  LRA_RETURN_IF_ERROR(reader.Finish());
  return rows;
}

CsvRow QuotedRow(std::string a, std::string b, int64_t line = 1) {
  return CsvRow{{std::move(a), std::move(b)}, line};
}

std::vector<std::string> Words(const std::vector<CsvRow>& rows) {
  std::vector<std::string> words;
  for (const CsvRow& row : rows) {
    words.push_back(absl::StrCat(row.line, ":", absl::StrJoin(row.fields, "|")));
  }
  return words;
}

TEST(CsvReaderTest, ReadsQuotesLineEndsAndMarks) {
  const std::string file =
      "\xef\xbb\xbfreview,sentiment\r\n"
      "\"A \"\"fine\"\" film, really.\n\r\nTwice\",positive\r\n"
      "\n"
      "\r\n"
      "plain,\"\"\n"
      "\"\",b\rc\n"
      ",\n"
      "\"\"\"\",\"\n\"\n"
      "last,1\n";
  for (size_t block_bytes = 1; block_bytes < 60; ++block_bytes) {
    const auto rows = ReadAll(TableDialect::kCsv, 2, file, block_bytes);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_THAT(Words(*rows),
                ElementsAre("1:review|sentiment", "2:A \"fine\" film, really.\n\r\nTwice|positive",
                            "7:plain|", "8:|b\rc", "9:|", "10:\"|\n", "12:last|1"));
  }
}

TEST(CsvReaderTest, ReadsTabsWithoutQuotes) {
  const std::string file = "1\t\"Quoted\" but, plain\n0\t\"open\r\n\t\n\"\t\"\"\n";
  for (const size_t block_bytes : {1, 2, 5, 100}) {
    const auto rows = ReadAll(TableDialect::kTsv, 2, file, block_bytes);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_THAT(Words(*rows),
                ElementsAre("1:1|\"Quoted\" but, plain", "2:0|\"open", "3:|", "4:\"|\"\""));
  }
}

TEST(CsvReaderTest, TakesAnyNumberOfColumnsAndQuotedMark) {
  const auto one = ReadAll(TableDialect::kCsv, 1, "\xef\xbb\xbf\"a,b\"\nc\n\"\"\n", 3);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(Words(*one), ElementsAre("1:a,b", "2:c", "3:"));
  const auto three = ReadAll(TableDialect::kCsv, 3, "a,b,c\n,,\n", 3);
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_THAT(Words(*three), ElementsAre("1:a|b|c", "2:||"));
  EXPECT_TRUE(ReadAll(TableDialect::kCsv, 2, "", 1)->empty());
  EXPECT_TRUE(ReadAll(TableDialect::kCsv, 2, "\n\n", 1)->empty());
}

TEST(CsvReaderTest, TakesAsManyColumnsAsTheFirstRow) {
  for (const size_t block_bytes : {1, 3, 100}) {
    const auto rows =
        ReadAll(TableDialect::kCsv, 0, "\nid,\"a\nb\",label\n1,x,y\n,,\n", block_bytes);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_THAT(Words(*rows), ElementsAre("2:id|a\nb|label", "4:1|x|y", "5:||"));
    EXPECT_THAT(
        std::string(ReadAll(TableDialect::kTsv, 0, "a\tb\n1\n", block_bytes).status().message()),
        HasSubstr("line 2, column 1: the row ends; 2 columns are expected"));
    EXPECT_THAT(
        std::string(ReadAll(TableDialect::kCsv, 0, "a\n1,2\n", block_bytes).status().message()),
        HasSubstr("line 2, column 1: a further column follows; 1 are expected"));
  }
  const std::string commas(kMaxTableColumns - 1, ',');
  EXPECT_TRUE(ReadAll(TableDialect::kCsv, 0, absl::StrCat(commas, "\n"), 100).ok());
  EXPECT_THAT(
      std::string(
          ReadAll(TableDialect::kCsv, 0, absl::StrCat(commas, ",\n"), 100).status().message()),
      HasSubstr("line 1, column 1000: a further column follows; at most 1000 are expected"));
}

// What Python's csv.writer(delimiter="\t") makes of: He said "go" and left.
TEST(CsvReaderTest, ATsvIsNotQuoted) {
  EXPECT_EQ(
      CheckUnquoted(QuotedRow("0", R"("He said ""go"" and left")", 7)).message(),
      R"(line 7, column 2: "\"He said \"\"go\"\" and left\"" is quoted as in a .csv, but the )"
      "quotes of a .tsv are a part of the text; write the table without quoting (in Python "
      "csv.QUOTE_NONE), or as .csv");
  EXPECT_FALSE(CheckUnquoted(QuotedRow(R"("""")", "0")).ok());
  EXPECT_FALSE(CheckUnquoted(QuotedRow(R"("a """"")", "0")).ok());
  for (const char* text : {R"(He said "go")", R"("A" and "B")", R"("all of it")", R"(")", R"("")",
                           R"(""go"" said he)", R"("one ""pair"" and " more")", ""})
    EXPECT_TRUE(CheckUnquoted(QuotedRow("1", text)).ok()) << text;
}

TEST(CsvReaderTest, NamesLineColumnAndWhatWasFound) {
  const std::string behind = "behind the closing quote; a separator, a line end or a second quote";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"a,b", "line 3, column 2: the last line has no line end: the file was cut off"},
      {"a,\"b\"", "line 3, column 2: the last line has no line end"},
      {"a,\"\"", "line 3, column 2: the last line has no line end"},
      {"a", "line 3, column 1: the last line has no line end"},
      {"a,", "line 3, column 2: the last line has no line end"},
      {"\r", "line 3, column 1: the last line has no line end"},
      {"a,\"b\nc\n", "line 3, column 2: the quote is never closed"},
      {"\"a,b\n\n\nc\"\"", "line 3, column 1: the quote is never closed"},
      {"a\n", "line 3, column 1: the row ends; 2 columns are expected"},
      {"\"\"\n", "line 3, column 1: the row ends; 2 columns"},
      {"a,b,c\n", "line 3, column 2: a further column follows; 2 are expected"},
      {"a,b,\n", "line 3, column 2: a further column follows"},
      {"\"a\nb\",c,d\n", "line 4, column 2: a further column follows"},
      {"a,b\"c\"\n", "line 3, column 2: a quote inside a field without quotes"},
      {"a, \"b\"\n", "line 3, column 2: a quote inside a field without quotes"},
      {"\"a\nb\" ,c\n", "line 4, column 1: \" \" " + behind},
      {"\"a\"b,c\n", "line 3, column 1: \"b\" " + behind},
      {"\"a\"\r,c\n", "line 3, column 1: \",\" " + behind},
      {std::string("a,\"b\"\0\n", 7), "line 3, column 2: \"\\x00\" " + behind},
  };
  for (const auto& [text, words] : table) {
    for (const size_t block_bytes : {1, 3, 1000}) {
      const auto rows =
          ReadAll(TableDialect::kCsv, 2, absl::StrCat("x,\"1\n2\"\n", text), block_bytes);
      EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument) << text;
      EXPECT_THAT(std::string(rows.status().message()), HasSubstr(words));
    }
  }
}

TEST(CsvReaderTest, KeepsItsError) {
  CsvReader reader(TableDialect::kTsv, 2);
  reader.Feed("a\tb\nc\nd\te\n");
  EXPECT_TRUE(reader.Next()->has_value());
  const absl::Status error = reader.Next().status();
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(reader.Next().status(), error);
  reader.Feed("d\te\n");
  EXPECT_EQ(reader.Next().status(), error);
  EXPECT_EQ(reader.Finish(), error);
}

TEST(CsvReaderTest, BoundsAField) {
  const std::string longest(kMaxFieldBytes, 'x');
  for (const size_t block_bytes : {1000, 1 << 16, 1 << 23}) {
    const auto rows =
        ReadAll(TableDialect::kCsv, 2, absl::StrCat("1,\"", longest, "\"\n"), block_bytes);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ((*rows)[0].fields[1].size(), kMaxFieldBytes);
    for (const absl::string_view open : {"\n1,", "\n1,\"\n"}) {
      const auto bad =
          ReadAll(TableDialect::kCsv, 2, absl::StrCat(open, longest, "x"), block_bytes);
      EXPECT_THAT(std::string(bad.status().message()),
                  HasSubstr("line 2, column 2: the field is longer than 4194304 bytes"));
    }
  }
}

// Tables written as RFC 4180 says are read back unchanged, whatever the fields hold and wherever
// blocks end.
TEST(CsvReaderTest, ReadsBackRandomTables) {
  RandomStream random(6, RandomDomain::kTest, {0, 0, 0});
  const std::string alphabet("ab\",\t\r\n \0\xff", 10);
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::string> rows;
    std::string file;
    for (int64_t n = random.Between(0, 4); n > 0; --n) {
      std::vector<std::string> fields(2);
      for (std::string& field : fields) {
        for (int64_t size = random.Between(0, 6); size > 0; --size) {
          field += alphabet[random.Below(static_cast<uint32_t>(alphabet.size()))];
        }
      }
      rows.push_back(absl::StrJoin(fields, "|"));
      const auto quoted = [&](const std::string& field) {
        const bool plain = field.find_first_of("\",\r\n") == std::string::npos;
        if (plain && random.Below(2) == 0) return field;
        return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
      };
      absl::StrAppend(&file, quoted(fields[0]), ",", quoted(fields[1]),
                      random.Below(2) == 0 ? "\n" : "\r\n");
    }
    const auto read = ReadAll(TableDialect::kCsv, 2, file, 1 + random.Below(9));
    ASSERT_TRUE(read.ok()) << read.status() << "\n" << file;
    std::vector<std::string> back;
    for (const CsvRow& row : *read) back.push_back(absl::StrJoin(row.fields, "|"));
    EXPECT_EQ(back, rows) << file;
  }
}

}  // namespace
}  // namespace lra
