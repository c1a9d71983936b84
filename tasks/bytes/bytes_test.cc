#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

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

// It stands for a text that would be missing.
TEST_F(BytesTest, RefusesLinksOfArchives) {
  ExpectLinksRefused(Good(), {"books/train/d.txt", "test/e.txt"});
}

}  // namespace
}  // namespace lra
