#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "datasets/mapped_split.h"
#include "tasks/import_test_util.h"
#include "tasks/task_check.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BytesTest : public ImportTestBase {
 protected:
  BytesTest() : ImportTestBase("bytes_lm", {"piece_bytes=4"}) {}
  static Entries Good() {
    return {{"books/train/b.txt", "0123456789"},
            {"books/train/a/z.txt", "abcd"},
            {"books/test/c.txt", "\xff\x01"}};
  }
  std::vector<std::string> Pieces(const std::string& split) const {
    const Dataset data = *Dataset::Open(Out(), {});
    const internal::MappedSplit& stored = *data.split(split);
    std::vector<std::string> pieces;
    for (int64_t i = 0; i < stored.examples; ++i) {
      const auto bytes = stored.Bytes(i);
      pieces.emplace_back(bytes.begin(), bytes.end());
    }
    return pieces;
  }
};

TEST(BytesLmTest, KeepsEveryPromise) {
  const TestFolder folder;
  const auto lines = CheckTask({.task = "bytes_lm", .scratch = folder.File("check")});
  ASSERT_TRUE(lines.ok()) << lines.status();
  for (const TaskCheckLine& line : *lines)
    EXPECT_TRUE(line.passed) << line.name << ": " << line.detail;
}

TEST_F(BytesTest, PiecesInTheOrderOfPaths) {
  ExpectImports(WriteFolder(Good()));
  EXPECT_THAT(Pieces("train"), ElementsAre("abcd", "0123", "4567", "89"));
  EXPECT_THAT(Pieces("test"), ElementsAre("\xff\x01"));
}

TEST_F(BytesTest, SameFromEveryWrapping) { ExpectSameFromEveryWrapping(); }

// Unlabelled reviews and lists of addresses in aclImdb; what is no text, or in no split, anywhere.
TEST_F(BytesTest, PassesOverWhatIsNotAskedFor) {
  ExpectPassedOver(Good(), {{"books/train/b.feat", "1:2"}, {"books/README.txt", "read me"}});
  Entries with_empty = Good();
  with_empty.push_back({"books/train/empty.txt", ""});
  with_empty.push_back({"books/train/unsup/1.txt", "unlabelled"});
  with_empty.push_back({"books/train/urls_pos.txt", "http://"});
  const Manifest manifest = ExpectImports(WriteFolder(with_empty));
  ASSERT_EQ(manifest.skipped_size(), 2);
  EXPECT_THAT(manifest.skipped(0).reason(), HasSubstr("option skip"));
  EXPECT_EQ(manifest.skipped(0).count(), 2);
  EXPECT_EQ(manifest.skipped(1).reason(), "empty files");
  EXPECT_THAT(Pieces("train"), ElementsAre("abcd", "0123", "4567", "89"));
}

// An archive that macOS made, and a notebook's folder, have some; "." is no hidden folder.
TEST_F(BytesTest, PassesOverHiddenFiles) {
  Entries with_hidden = Good();
  with_hidden.push_back({"./books/train/c.txt", "ef"});
  with_hidden.push_back({"books/train/._b.txt", "Mac OS X"});
  with_hidden.push_back({"books/test/.ipynb_checkpoints/c.txt", "old"});
  const Manifest manifest = ExpectImports(WriteFolder(with_hidden));
  ASSERT_EQ(manifest.skipped_size(), 1);
  EXPECT_EQ(manifest.skipped(0).reason(), "hidden files");
  EXPECT_EQ(manifest.skipped(0).count(), 2);
  EXPECT_THAT(Pieces("train"), ElementsAre("abcd", "0123", "4567", "89", "ef"));
}

// The folder above the splits is no part of a path.
TEST_F(BytesTest, WhatIsSkippedDoesNotDependOnTheFolderAbove) {
  ExpectImports(WriteFolder(Good()));
  const auto expected = Contents(Out());
  Entries wrapped = Good();
  for (Entry& entry : wrapped) entry.name = "urls_2024/unsup/" + entry.name;
  ExpectImports(WriteTar(wrapped));
  EXPECT_EQ(Contents(Out()), expected);
}

class UnskippedBytesTest : public ImportTestBase {
 protected:
  UnskippedBytesTest() : ImportTestBase("bytes_lm", {"skip="}) {}
};

TEST_F(UnskippedBytesTest, TheListMayBeEmptied) {
  const Manifest manifest = ExpectImports(
      WriteFolder({{"train/unsup/1.txt", "a"}, {"train/urls_pos.txt", "b"}, {"test/c.txt", "c"}}));
  EXPECT_EQ(manifest.splits(0).examples(), 2);
  EXPECT_EQ(manifest.skipped_size(), 0);
}

TEST_F(BytesTest, RefusesWhatIsMissingTwiceOrTooLong) {
  ExpectRefused(Good(),
                {{Drop("books/test"), {"no texts test/"}, absl::StatusCode::kNotFound},
                 {All({Drop("books/test"), Put("books/test/unsup/1.txt", "x")}),
                  {"no texts test/",
                   "; 1 file was passed over, because the option skip names /unsup/, /urls_"},
                  absl::StatusCode::kNotFound},
                 {Again("books/train/b.txt", "x"), {"train/b.txt", "twice"}}});
}

// 21 texts beside each other. The SHA-256 of "text 19" begins with 01, that of "text 04" with 02,
// those of the others with 10 or more.
Entries Beside(const std::string& above, bool renamed = false) {
  Entries entries;
  for (int i = 0; i <= 20; ++i) {
    const int name = renamed ? 20 - i : i;
    entries.push_back({absl::StrCat(above, "n", absl::Dec(name, absl::kZeroPad2), ".txt"),
                       absl::StrCat("text ", absl::Dec(i, absl::kZeroPad2))});
  }
  return entries;
}

TEST_F(BytesTest, WithoutFoldersOfSplitsATenthIsTest) {
  const Manifest manifest = ExpectImports(WriteFolder(Beside("")));
  EXPECT_THAT(Pieces("test"), ElementsAre("text", " 04", "text", " 19"));
  EXPECT_EQ(manifest.splits(0).examples(), 38);
  ASSERT_EQ(manifest.sources_size(), 1);
  EXPECT_THAT(manifest.sources(0).name(), HasSubstr("a tenth is test, by SHA-256"));
  EXPECT_EQ(manifest.sources(0).size_bytes(), 147);
}

// Neither the order of an archive, nor the folder above, nor names.
TEST_F(BytesTest, TheTextsAloneDecideWhichTenthThatIs) {
  ExpectImports(WriteFolder(Beside("")));
  const auto expected = Contents(Out());
  const Entries wrapped = Beside("unsup/of/");
  ExpectImports(WriteTar({wrapped.rbegin(), wrapped.rend()}));
  EXPECT_EQ(Contents(Out()), expected);
  ExpectImports(WriteFolder(Beside("", /*renamed=*/true)));
  EXPECT_THAT(Pieces("test"), ElementsAre("text", " 19", "text", " 04"));
}

TEST_F(BytesTest, CopiesOfATextAreInOneSplit) {
  Entries entries = Beside("");
  entries.push_back({"other/copy.txt", "text 19"});
  entries.push_back({"other/another.txt", "text 06"});
  ExpectImports(WriteFolder(entries));
  EXPECT_THAT(Pieces("test"), ElementsAre("text", " 04", "text", " 19", "text", " 19"));
}

TEST_F(BytesTest, ASingleTextIsSplitByPieces) {
  ExpectImports(WriteFolder({{"book/only.txt", "0123456789"}}));
  EXPECT_THAT(Pieces("train"), ElementsAre("0123", "4567"));
  EXPECT_THAT(Pieces("test"), ElementsAre("89"));
  const std::string twenty = std::string(72, 'x') + "nextlast";
  ExpectImports(WriteFolder({{"book/only.txt", twenty}, {"book/copy.txt", twenty}}));
  EXPECT_THAT(Pieces("test"), ElementsAre("next", "last", "next", "last"));
}

// The SHA-256 of "cd" is smaller than that of "ab".
TEST_F(BytesTest, WithoutFoldersOfSplitsTheListIsHeldAgainstWhatLiesBelowTheCommonFolder) {
  const Entries texts = {{"unsup/a.txt", "ab"},
                         {"unsup/b.txt", "cd"},
                         {"unsup/unsup/c.txt", "unlabelled"},
                         {"unsup/empty.txt", ""},
                         {"unsup/d.md", "no text"}};
  const Manifest manifest = ExpectImports(WriteFolder(texts));
  EXPECT_THAT(Pieces("train"), ElementsAre("ab"));
  EXPECT_THAT(Pieces("test"), ElementsAre("cd"));
  ASSERT_EQ(manifest.skipped_size(), 2);
  EXPECT_EQ(manifest.skipped(0).count(), 1);
  EXPECT_EQ(manifest.skipped(1).reason(), "empty files");
}

TEST_F(BytesTest, RefusesWhatCannotBeSplit) {
  ExpectRefused({{"book/only.txt", "0123"}},
                {{All({}), {"the only text is one piece"}, absl::StatusCode::kNotFound},
                 {Put("book/only.txt", ""), {"has no texts: "}, absl::StatusCode::kNotFound},
                 {Again("book/only.txt", "4567"), {"only.txt twice"}}});
}

// A file beside the folders of splits is none of the texts, whatever is wrong with it.
TEST_F(BytesTest, PassesOverWhatLiesBesideTheSplits) {
  ExpectPassedOver(Good(), {{"books/README.txt", "read me"}, {"books/empty.txt", ""}});
  ExpectPassedOver(Good(), {{"books/notes.txt", "/etc/passwd", AE_IFLNK}});
}

// It stands for a text that would be missing.
TEST_F(BytesTest, RefusesLinksOfArchives) {
  ExpectLinksRefused(Good(), {"books/train/d.txt", "test/e.txt"});
  ExpectLinksRefused(Beside(""), {"d.txt"});
}

}  // namespace
}  // namespace lra
