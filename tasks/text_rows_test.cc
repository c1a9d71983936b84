#include "tasks/text_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/sha256.h"
#include "tasks/csv_reader.h"
#include "tasks/raw_files.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TextRowsTest : public testing::Test {
 protected:
  // "label|text" of each row, or the message of the error alone.
  static std::vector<std::string> Read(const std::string& path, const TextFields& fields = {}) {
    const auto rows = OpenTextRows(path, fields);
    if (!rows.ok()) return {std::string(rows.status().message())};
    std::vector<std::string> words;
    while (true) {
      const auto row = (*rows)->Next();
      if (!row.ok()) return {std::string(row.status().message())};
      if (!row->has_value()) return words;
      words.push_back(absl::StrCat((*row)->label, "|", (*row)->text));
    }
  }
  // Writes the file first.
  std::vector<std::string> Read(const std::string& name, const std::string& bytes,
                                const TextFields& fields = {}) const {
    EXPECT_EQ(WriteFileAtomically(folder_.File(name), bytes), absl::OkStatus());
    return Read(folder_.File(name), fields);
  }
  std::string Refusal(const std::string& name, const std::string& bytes,
                      const TextFields& fields = {}) const {
    const std::vector<std::string> words = Read(name, bytes, fields);
    return words.size() == 1 ? words[0] : absl::StrCat("read ", words.size(), " rows");
  }

  const TestFolder folder_;
};

TEST_F(TextRowsTest, ReadsTables) {
  EXPECT_THAT(Read("a.csv",
                   "\xef\xbb\xbfid,review,stars\r\n"
                   "1,\"A \"\"fine\"\"\nfilm, twice\",5\r\n"
                   "\n"
                   "2,\xff bad ,1",  // without a line end
                   {.label = "stars", .text = "review"}),
              ElementsAre("5|A \"fine\"\nfilm, twice", "1|\xff bad "));
  EXPECT_THAT(Read("A.TSV", "label\ttext\npos\tsays \"go\", so\n"),
              ElementsAre("pos|says \"go\", so"));
  EXPECT_THAT(
      Read("b.csv", "good,x,pos\nbad,x,neg\n", {.label = "3", .text = "1", .has_header = false}),
      ElementsAre("pos|good", "neg|bad"));
  // A table of more than one block.
  std::string table = "text,label\n";
  for (int i = 0; i < 30000; ++i) absl::StrAppend(&table, "text ", i, ",", i % 3, "\n");
  const std::vector<std::string> rows = Read("c.csv", table);
  ASSERT_EQ(rows.size(), 30000u);
  EXPECT_EQ(rows[29999], "2|text 29999");
}

TEST_F(TextRowsTest, ReadsObjects) {
  EXPECT_THAT(Read("a.jsonl",
                   "{\"text\": \"good\\n\\u00e9\", \"label\": \"pos\", \"id\": [1, {}]}\n"
                   "\n"
                   "{\"label\": 1, \"text\": \"x\"}\r\n"
                   "{\"label\": true, \"text\": \"y\"}"),
              ElementsAre("pos|good\n\xc3\xa9", "1|x", "true|y"));
  EXPECT_THAT(Read("b.json", "{\"stars\": -2.5, \"review\": \"x\"}\n",
                   {.label = "stars", .text = "review"}),
              ElementsAre("-2.5|x"));
}

TEST_F(TextRowsTest, ReadsFolders) {
  for (const auto& [name, bytes] :
       std::vector<std::pair<std::string, std::string>>{{"pos/b.txt", "good"},
                                                        {"pos/a", "fine\n"},
                                                        {"neg/c.txt", "bad"},
                                                        {".DS_Store", "junk"},
                                                        {"pos/._b.txt", "junk"},
                                                        {".cache/x/y", "junk"}}) {
    ASSERT_EQ(WriteSampleFile(folder_.File("films"), name, bytes), absl::OkStatus());
  }
  const std::vector<std::string> expected = {"neg|bad", "pos|fine\n", "pos|good"};
  EXPECT_EQ(Read(folder_.File("films")), expected);
  EXPECT_EQ(Read(folder_.File("films/")), expected);
  ASSERT_EQ(WriteSampleFile(folder_.File("films"), "neg/d.txt", ""), absl::OkStatus());
  EXPECT_THAT(Read(folder_.File("films")),
              ElementsAre(HasSubstr("films/neg/d.txt: the text is empty")));
  for (const char* name : {"readme.txt", "neg/c/e.txt"}) {
    const std::string folder = folder_.File(absl::StrCat("odd-", std::string(name, 1)));
    ASSERT_EQ(WriteSampleFile(folder, name, "x"), absl::OkStatus());
    EXPECT_THAT(Read(folder), ElementsAre(HasSubstr(absl::StrCat(
                                  "/", name, ": is no text of a class; a folder has one sub-"))));
  }
}

// A folder of pictures looks like one of texts.
TEST_F(TextRowsTest, RefusesWhatIsNoText) {
  const std::vector<std::pair<std::string, std::string>> begins = {
      {"\x89PNG\r\n\x1a\n", "is a PNG picture and no text; pictures become a task as arrays"},
      {"\xff\xd8\xff\xe0", "is a JPEG picture and no text; pictures become"},
      {"GIF89a", "is a GIF picture and no text"},
      {"PK\x03\x04", "is a ZIP archive, or a workbook"},
      {"\x1f\x8b\x08", "is compressed by gzip and no text; unpack it first"},
      {"%PDF-1.7", "is a PDF document and no text"},
      {"\xff\xfet", "is UTF-16 and no text; texts are read as UTF-8"},
      {"\xfe\xff", "is UTF-16 and no text"}};
  for (size_t i = 0; i < begins.size(); ++i) {
    const auto& [bytes, refusal] = begins[i];
    const std::string folder = folder_.File(absl::StrCat("kind", i));
    ASSERT_EQ(WriteSampleFile(folder, "cat/1.bin", bytes + "..."), absl::OkStatus());
    EXPECT_THAT(Read(folder), ElementsAre(HasSubstr("cat/1.bin: " + refusal)));
    EXPECT_THAT(Refusal("a.csv", bytes + ",label\n"), HasSubstr("a.csv: " + refusal));
    EXPECT_THAT(Refusal("a.jsonl", bytes), HasSubstr("a.jsonl: " + refusal));
  }
  // Without a mark. In a folder texts are any bytes.
  const std::string wide = {'t', '\0', 'e', '\0', 'x', '\0'};
  EXPECT_THAT(Refusal("a.csv", wide), HasSubstr("a.csv: is UTF-16 and no text"));
  ASSERT_EQ(WriteSampleFile(folder_.File("bytes"), "x/1", wide), absl::OkStatus());
  EXPECT_EQ(Read(folder_.File("bytes")), std::vector<std::string>{"x|" + wide});
}

TEST_F(TextRowsTest, BlanksAroundALabelAreNoPartOfIt) {
  EXPECT_THAT(Read("a.csv", "text,label\nx, pos\ny,pos\t\nz,very good\n"),
              ElementsAre("pos|x", "pos|y", "very good|z"));
  EXPECT_THAT(Read("a.jsonl", "{\"text\": \" x\", \"label\": \" pos \"}\n"), ElementsAre("pos| x"));
  EXPECT_THAT(Refusal("a.csv", "text,label\nx, \n"),
              HasSubstr("a.csv: line 2: the label in column 2 is empty"));
}

TEST_F(TextRowsTest, SaysWhichSeparatorIsExpected) {
  EXPECT_THAT(Refusal("a.csv", "text;label\nx;1\n"),
              HasSubstr("; the row is one column with \";\" inside: a .csv has commas between"));
  EXPECT_THAT(Refusal("a.csv", "text\tlabel\nx\t1\n"), HasSubstr("with \"\\t\" inside"));
  EXPECT_THAT(Refusal("a.tsv", "text,label\nx,1\n"),
              HasSubstr("with \",\" inside: a .tsv has tabs between its columns"));
  EXPECT_THAT(
      Refusal("a.csv", "x;1\n", {.label = "2", .text = "1", .has_header = false}),
      HasSubstr("--label and --text number the columns from 1; the row is one column with"));
  EXPECT_THAT(Refusal("a.csv", "\"text\";\"label\"\n\"x\";1\n"),
              HasSubstr("\";\" behind the closing quote; a separator, a line end or a second quote "
                        "is expected; a .csv has commas between its columns"));
  EXPECT_THAT(Refusal("a.csv", "review\nx\n"), testing::Not(HasSubstr("inside")));
}

TEST_F(TextRowsTest, JoinedTablesAndOldLineEndsAreTold) {
  const std::string table = "text,label\nx,1\n";
  const auto again = HasSubstr("a.csv: line 3: the row is the header of line 1 again");
  EXPECT_THAT(Refusal("a.csv", table + table), again);
  EXPECT_THAT(Refusal("a.csv", "\xef\xbb\xbf" + table + "\xef\xbb\xbf" + table), again);
  EXPECT_THAT(Read("a.csv", table + "text,2\n"), ElementsAre("1|x", "2|text"));
  EXPECT_THAT(Read("a.csv", "x,1\nx,1\n", {.label = "2", .text = "1", .has_header = false}),
              ElementsAre("1|x", "1|x"));
  EXPECT_THAT(Refusal("a.csv", "text,label\rx,1\ry,2\r"),
              HasSubstr("a.csv: its lines end with CR alone; LF or CR LF are expected"));
  EXPECT_THAT(Read("a.jsonl", "{\"text\": \"x\", \"label\": 1}\r"), ElementsAre("1|x"));
}

TEST_F(TextRowsTest, SaysWhatWasRead) {
  const std::string bytes = "text,label\nx,1\n";
  ASSERT_EQ(WriteFileAtomically(folder_.File("a.csv"), bytes), absl::OkStatus());
  const auto rows = OpenTextRows(folder_.File("a.csv"), {});
  ASSERT_TRUE(rows.ok()) << rows.status();
  const auto row = (*rows)->Next();
  ASSERT_TRUE(row.ok() && row->has_value());
  EXPECT_EQ((*row)->where, absl::StrCat(folder_.File("a.csv"), ": line 2"));
  EXPECT_FALSE((*rows)->Next()->has_value());
  const ManifestSource source = (*rows)->Source();
  EXPECT_EQ(source.name(), "a.csv");
  EXPECT_EQ(source.size_bytes(), static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(source.sha256(), Sha256Hex(bytes));
}

TEST_F(TextRowsTest, NamesFileLineAndColumnOfTables) {
  EXPECT_THAT(Refusal("a.csv", ""), HasSubstr("a.csv: the table is empty; its first row names"));
  EXPECT_THAT(
      Refusal("a.csv", "text,stars\nx,1\n"),
      HasSubstr("a.csv: line 1: the header has no column \"label\" but \"text\", \"stars\"; "
                "--label takes one of them, or, where this row is no header, a number"));
  // Names stay readable, whatever their language; what is no UTF-8 is escaped.
  EXPECT_THAT(Refusal("a.csv", "texte,cat\u00e9gorie,not\xe9\n"),
              HasSubstr("but \"texte\", \"cat\u00e9gorie\", \"not\\xe9\"; --label takes"));
  EXPECT_THAT(Refusal("a.csv", "\ntext,label,label\nx,1,2\n"),
              HasSubstr("a.csv: line 2: the header has two columns \"label\""));
  EXPECT_THAT(Refusal("a.csv", "text,label\n", {.label = "text"}),
              HasSubstr("--label and --text are both column \"text\""));
  EXPECT_THAT(Refusal("a.csv", "text,label\nx\n"),
              HasSubstr("a.csv: line 2, column 1: the row ends; 2 columns are expected"));
  EXPECT_THAT(
      Refusal("a.csv", "text,label\nx,1\ny,\n"),
      HasSubstr("a.csv: line 3: the label in column 2 is empty; give the example one, or leave"));
  EXPECT_THAT(Refusal("a.csv", "text,label\n,1\n"),
              HasSubstr("a.csv: line 2: the text in column 1 is empty"));
  EXPECT_THAT(Refusal("a.csv", "text,label\n\"x,1\n"),
              HasSubstr("a.csv: line 2, column 1: the quote is never closed"));
  EXPECT_THAT(Refusal("a.tsv", "text\tlabel\n\"a \"\"b\"\"\"\t1\n"),
              HasSubstr("a.tsv: line 2, column 1: \"\\\"a \\\"\\\"b"));
  const TextFields numbers = {.label = "3", .text = "1", .has_header = false};
  EXPECT_THAT(
      Refusal("a.csv", "x,1\n", numbers),
      HasSubstr("a.csv: line 1: the row has 2 columns, no column 3; --label and --text number"));
  for (const char* number : {"label", "0", "-1", "1.5"}) {
    EXPECT_THAT(Refusal("a.csv", "x,1\n", {.label = number, .text = "1", .has_header = false}),
                HasSubstr(absl::StrCat("--label is \"", number, "\", beside --no-header")));
  }
}

TEST_F(TextRowsTest, NamesFileLineAndFieldOfObjects) {
  const std::string good = "{\"text\": \"a\", \"label\": \"x\"}\n";
  EXPECT_THAT(Refusal("a.jsonl", absl::StrCat(good, "{\"text\": \"a\" \"label\"}\n")),
              HasSubstr("a.jsonl: line 2, column 20: the line is no JSON: \"{\\\"text"));
  EXPECT_THAT(Refusal("a.jsonl", "[\n"),
              HasSubstr("a.jsonl: line 1, column 2: the line is no JSON: "));
  EXPECT_THAT(
      Refusal("a.jsonl", "[{\"text\": \"a\"}]\n"),
      HasSubstr("a.jsonl: line 1: the line is no object: \"[{\\\"text\\\": \\\"a\\\"}]\"; one "
                "object a line is expected, as in {\"text\": "));
  EXPECT_THAT(
      Refusal("a.jsonl", absl::StrCat(good, "{\"text\": \"a\", \"stars\": 1}\n")),
      HasSubstr("a.jsonl: line 2: the object has no field \"label\" but \"stars\", \"text\"; "
                "--label names it"));
  EXPECT_THAT(Refusal("a.jsonl", "{\"text\": 3, \"label\": \"x\"}"),
              HasSubstr("the text in field \"text\" is the number \"3\"; a string is expected"));
  EXPECT_THAT(Refusal("a.jsonl", "{\"text\": \"a\", \"label\": [1]}"),
              HasSubstr("the label in field \"label\" is the array; a string, a number, "
                        "true or false is expected"));
  const std::string open(100'000, '['), closed(open.size(), ']');
  EXPECT_THAT(Refusal("a.jsonl", absl::StrCat("{\"text\": \"a\", \"label\": ", open, closed, "}")),
              HasSubstr("is the array; a string"));
  EXPECT_THAT(Refusal("a.jsonl", "{\"label\": 0, \"text\": \"a\", \"label\": 1}"),
              HasSubstr("a.jsonl: line 1: the object has two fields \"label\""));
  EXPECT_THAT(Refusal("a.jsonl", "{\"text\": \"a\", \"label\": 123456789012345678901234567890}"),
              HasSubstr("has too many digits to be told from its neighbours; write it in quotes"));
  EXPECT_THAT(Read("a.jsonl",
                   "{\"text\": \"a\", \"label\": 18446744073709551615, "
                   "\"more\": {\"label\": 2, \"text\": 3}}"),
              ElementsAre("18446744073709551615|a"));
  EXPECT_THAT(Refusal("a.jsonl", "{}", {.label = "text", .text = "text"}),
              HasSubstr("--label and --text both name the field \"text\""));
  EXPECT_THAT(Refusal("a.jsonl", "{\"text\": \"\", \"label\": 1}"),
              HasSubstr("a.jsonl: line 1: the text in field \"text\" is empty"));
  EXPECT_THAT(
      Refusal("a.jsonl", "{\"text\": \"\xff\", \"label\": 1}"),
      HasSubstr("a.jsonl: line 1, column 11: the line is not UTF-8: \"{\\\"text\\\": \\\"\\xff"));
  EXPECT_THAT(Refusal("a.jsonl", "{\"text\": \"\\ud83d\", \"label\": 1}"),
              HasSubstr(": the line has half of a surrogate pair: \"{\\\"text"));
  EXPECT_THAT(Refusal("a.jsonl", std::string(kMaxFieldBytes + 1, '{')),
              HasSubstr("a.jsonl: line 1: the line is longer than 4194304 bytes"));
}

TEST_F(TextRowsTest, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(Refusal("a.txt", "x"),
              HasSubstr("its name does not say what it is; .csv, .tsv, .jsonl"));
  EXPECT_THAT(Refusal("a.jsonl", "{}", {.has_header = false}),
              HasSubstr("--no-header is about tables"));
  EXPECT_EQ(OpenTextRows(folder_.File("nowhere.csv"), {}).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lra
