// Imports labelled reviews as a user does: folders and tables in every kind of archive, and broken
// ones.
#include <sys/resource.h>

#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "datasets/mapped_split.h"
#include "lra/files.h"
#include "lra/sha256.h"
#include "tasks/import_test_util.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kMissing = absl::StatusCode::kNotFound;
constexpr int64_t kHuge = int64_t{64} << 20;

// The ids have gaps, and their order as numbers is not that of their names.
Entries GoodTree() {
  return {{"aclImdb/README", "words"},
          {"aclImdb/test/neg/0_1.txt", "test neg 0"},
          {"aclImdb/test/pos/0_10.txt", "test pos 0"},
          {"aclImdb/train/labeledBow.feat", "9 0:9 1:1\n"},
          {"aclImdb/train/neg/10_4.txt", "train neg 10"},
          {"aclImdb/train/neg/9_3.txt", "train neg 9"},
          {"aclImdb/train/pos/0_7.txt", "train pos 0"},
          {"aclImdb/train/pos/10_9.txt", "train pos 10"},
          {"aclImdb/train/unsup/0_0.txt", "not labelled"}};
}

Entries GoodTables() {
  return {{"train.csv", "label,text\n0,bad film\n1,\"good, \"\"very\"\" good\"\n"},
          {"test.csv", "label,text\r\n1,fine\r\n0,poor\r\n"}};
}

class ReviewReaderTest : public ImportTestBase {
 protected:
  ReviewReaderTest() : ImportTestBase("text") {}

  // Every example as "label text", as it is stored.
  std::vector<std::string> Stored(const std::string& split) const {
    const Dataset data = *Dataset::Open(Out(), {});
    std::vector<std::string> examples;
    for (int64_t i = 0; i < data.split(split)->examples; ++i) {
      const auto bytes = data.split(split)->Bytes(i);
      examples.push_back(
          absl::StrCat(data.split(split)->label(i), " ", std::string(bytes.begin(), bytes.end())));
    }
    return examples;
  }
};

TEST_F(ReviewReaderTest, TheSampleIsTheSameFromEveryWrapping) {
  const Manifest manifest = ExpectSameFromEveryWrapping();
  EXPECT_THAT(manifest.splits(0).label_count(), ElementsAre(12, 12));
  EXPECT_THAT(manifest.splits(1).label_count(), ElementsAre(6, 6));
}

TEST_F(ReviewReaderTest, ATreeIsOrderedByIdNegativeFirst) {
  const Manifest manifest = ExpectImports(WriteFolder(GoodTree()));
  EXPECT_THAT(Stored("train"),
              ElementsAre("1 train pos 0", "0 train neg 9", "0 train neg 10", "1 train pos 10"));
  EXPECT_THAT(Stored("test"), ElementsAre("0 test neg 0", "1 test pos 0"));
  std::vector<std::string> sources;
  for (const ManifestSource& source : manifest.sources()) {
    sources.push_back(absl::StrCat(source.name(), " ", source.size_bytes()));
  }
  EXPECT_THAT(sources, ElementsAre("test/neg 10", "test/pos 10", "train/neg 23", "train/pos 23"));
  // The SHA-256 over the SHA-256 digests of the files, ordered by id.
  std::string digests;
  for (const char* text : {"train neg 9", "train neg 10"}) {
    const Sha256Digest digest = Sha256Of(text);
    digests.append(digest.begin(), digest.end());
  }
  EXPECT_EQ(manifest.sources(2).sha256(), Sha256Hex(digests));
  EXPECT_EQ(manifest.origin(), "imported");
}

TEST_F(ReviewReaderTest, BytesAreKeptAsTheyAre) {
  const std::string odd("\0\xff\xfe caf\xe9\r\n\t\x1b ", 14), longest(65536, 'x');
  Entries entries = GoodTree();
  All({Put("aclImdb/train/pos/0_7.txt", odd), Put("aclImdb/train/neg/9_3.txt", longest)})(&entries);
  ExpectImports(WriteTar(entries));
  EXPECT_EQ(Stored("train")[0], "1 " + odd);
  EXPECT_EQ(Stored("train")[1], "0 " + longest);
}

TEST_F(ReviewReaderTest, TheFolderAboveMayHaveAnyNameOrNone) {
  ExpectImports(WriteFolder(GoodTree()));
  const auto expected = Contents(Out());
  for (const std::string root : {"", "./", "a/deep/er/", "train/", "b\xff/"}) {
    Entries entries;
    for (const Entry& entry : GoodTree()) {
      entries.push_back({root + entry.name.substr(std::string("aclImdb/").size()), entry.bytes});
    }
    ExpectImports(WriteTar(entries));
    EXPECT_EQ(Contents(Out()), expected) << root;
  }
}

TEST_F(ReviewReaderTest, LinksDevicesAndPathsOutOfTheArchiveTouchNothing) {
  const std::vector<std::string> names = {"aclImdb/train/pos/3_9.txt", "aclImdb/train/pos/0_7.txt",
                                          "train.csv", "../train/neg/4_1.txt",
                                          "/tmp/x/test/pos/5_9.txt"};
  ExpectLinksRefused(GoodTree(), names);
  Entries hostile = HostileEntries(names);
  for (const char* name : {"../../escaped", "/tmp/lra-escaped", "aclImdb/../../../escaped.txt"}) {
    hostile.push_back({name, "written?"});
  }
  // it must be skipped without unpacking
  hostile.push_back({"aclImdb/imdb.vocab", "", AE_IFREG, kHuge});
  ExpectPassedOver(GoodTree(), hostile);
  EXPECT_FALSE(FileExists("/tmp/lra-escaped"));
}

TEST_F(ReviewReaderTest, CutArchivesAreRefused) {
  Entries entries = GoodTree();
  entries[4].bytes = std::string(3000, 'a') + std::string(3000, '\0') + std::string(3000, 'b');
  ExpectCutsAreRefused(entries, true);
}

TEST_F(ReviewReaderTest, BrokenTreesAreRefused) {
  const std::string train = "aclImdb/train/", test = "aclImdb/test/";
  ExpectRefused(
      GoodTree(),
      {{Put(train + "neg/9_3.txt", ""), {"aclImdb/train/neg/9_3.txt: has no tokens"}},
       {Put(train + "neg/9_3.txt", std::string(65537, 'x')),
        {"aclImdb/train/neg/9_3.txt: the file is longer than 65536 bytes"}},
       {Put({train + "neg/9_3.txt", "", AE_IFREG, kHuge}),
        {"aclImdb/train/neg/9_3.txt: the file is longer than 65536 bytes"}},
       {Put(train + "neg/11_5.txt", "x"), {"train/neg/11_5.txt\"", "rating is 5; 1 to 4 are"}},
       {Put(train + "neg/11_0.txt", "x"), {"train/neg/11_0.txt\"", "rating is 0; 1 to 4 are"}},
       {Put(test + "pos/11_4.txt", "x"), {"test/pos/11_4.txt\"", "rating is 4; 7 to 10 are"}},
       {Put(test + "pos/11_11.txt", "x"), {"test/pos/11_11.txt\"", "rating is 11; 7 to 10"}},
       {Put(train + "neg/9_2.txt", "x"),
        {"aclImdb/train/neg/9_", ".txt: another review of this split and class has the same id"}},
       {Again(train + "pos/0_7.txt", "x"), {"train/pos/0_7.txt: another review"}},
       {Put("copy/train/pos/0_7.txt", "train pos 0"), {"train/pos/0_7.txt: another review"}},
       {Put(train + "pos/review.txt", "x"),
        {"\"aclImdb/train/pos/review.txt\"", "<id>_<rating>.txt is expected as the file's name"}},
       {Put(train + "pos/007_9.txt", "x"), {"\"aclImdb/train/pos/007_9.txt\"", "<id>_<rating>"}},
       {Put(train + "pos/99999999999_9.txt", "x"), {"pos/99999999999_9.txt\"", "<id>_<rating>"}},
       {Put(train + "pos/1_9\xff.txt", "x"), {"pos/1_9\\", "<id>_<rating>.txt is expected"}},
       {Put(train + "good/1_9.txt", "x"), {"train/good/1_9.txt\"", "the class is \"good\"; pos"}},
       {Put(train + "1_9.txt", "x"), {"\"aclImdb/train/1_9.txt\": pos/ or neg/ is expected"}},
       {Put("pos/1_9.txt", "x"), {"\"pos/1_9.txt\"", "train/ or test/ is expected above pos"}},
       {Drop(test + "pos/"), {raw_, " has no reviews in test/pos/"}, kMissing},
       {Drop(train), {raw_, " has no reviews in train/neg/"}, kMissing},
       {Drop("aclImdb/t"), {raw_, " has neither reviews (train/pos/ID_RATING.txt"}, kMissing},
       {Put("aclImdb/train.csv", "0,a\n"), {"holds both a tree of reviews and tables: aclImdb/"}},
       {Put("zz/test.tsv", "0\ta\n"), {"holds both a tree of reviews and tables: zz/test.tsv"}}});
}

TEST_F(ReviewReaderTest, TablesOfEitherKindGiveTheSameExamples) {
  ExpectImports(WriteFolder(GoodTables()));
  EXPECT_THAT(Stored("train"), ElementsAre("0 bad film", "1 good, \"very\" good"));
  EXPECT_THAT(Stored("test"), ElementsAre("1 fine", "0 poor"));
  const auto fingerprint = [&](const Entries& entries) {
    return ExpectImports(WriteTar(entries)).splits(0).content_fingerprint();
  };
  const std::string expected = fingerprint(GoodTables());
  const Entry test{"deep/er/test.tsv", "positive\tfine\n"};
  EXPECT_EQ(fingerprint({{"train.tsv", "neg\tbad film\npos\tgood, \"very\" good\n"}, test}),
            expected);
  EXPECT_EQ(fingerprint({test,
                         {"train.csv",
                          "\xef\xbb\xbfReview,Sentiment\r\nbad film,negative\r\n\r\n"
                          "\"good, \"\"very\"\" good\",positive\r\n"}}),
            expected);
}

TEST_F(ReviewReaderTest, ATablesRowsKeepTheirBytesAndOrder) {
  const std::string odd("\xff line 1\n\0 line \"\"2\"\"", 21);
  std::string train = "1,\"" + odd + "\"\n", expected;
  for (int i = 0; i < 3000; ++i) absl::StrAppend(&train, i % 2, ",row ", i, "\n");
  Entries entries = GoodTables();
  Put("train.csv", train)(&entries);
  ExpectImports(WriteTar(entries));
  const std::vector<std::string> stored = Stored("train");
  ASSERT_EQ(stored.size(), 3001u);
  EXPECT_EQ(stored[0], std::string("1 \xff line 1\n\0 line \"2\"", 21));
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(stored[i + 1], absl::StrCat(i % 2, " row ", i));
}

TEST_F(ReviewReaderTest, BrokenTablesAreRefused) {
  const auto train = [](const std::string& text) { return Put("train.csv", text); };
  const std::string good = "label,text\n0,bad\n1,good\n", longest(4 << 20, 'x');
  ExpectRefused(
      GoodTables(),
      {{Drop("test.csv"), {raw_, " has no table test.csv or test.tsv"}, kMissing},
       {Put("train.tsv", "0\ta\n"), {"train.tsv: there is another table of split train"}},
       {All({Drop("train.csv"), Put("train.tsv", "0\ta\n1\t\"so \"\"good\"\"\"\n")}),
        {"train.tsv: line 2, column 2: ", "is quoted as in a .csv"}},
       {Again("more/train.csv", good), {"train.csv: there is another table of split train"}},
       {Put("train/pos/0_9.txt", "x"), {"holds both a tree of reviews and tables: train"}},
       {train(""), {"train.csv: the table has no examples"}},
       {train("label,text\n"), {"train.csv: the table has no examples"}},
       {train(good + "2,fine\n"), {"train.csv: line 4: the label in column 1 is \"2\"; 0, neg"}},
       {train(good + "\n\nPositive,fine\n"), {"train.csv: line 6: the label in column 1 is \"Pos"}},
       {train(good + ",fine\n"), {"train.csv: line 4: the label in column 1 is \"\""}},
       {train(good + std::string("1\0,fine\n", 8)),
        {"train.csv: line 4:", "is \"1\\x00\"; 0, neg"}},
       {train(good + "1,\n"), {"train.csv: line 4: the text in column 2 is empty"}},
       {train(good + "1\n"), {"train.csv: line 4, column 1: the row ends; 2 columns"}},
       {train(good + "1,a,b\n"), {"train.csv: line 4, column 2: a further column follows; 2"}},
       {train(good + "1,a"), {"train.csv: line 4, column 2: the last line has no line end"}},
       {train(good + "1,\"a\nb\n"), {"train.csv: line 4, column 2: the quote is never closed"}},
       {train(good + "1,a \"b\" c\n"), {"train.csv: line 4, column 2: a quote inside a field"}},
       {train(good + "1,\"a\" b\n"), {"train.csv: line 4, column 2: \" \" behind the closing"}},
       {train(good + "1," + longest + "x\n"), {"train.csv: line 4", "longer than 4194304 bytes"}},
       {Put({"train.csv", good + "1,\"", AE_IFREG, kHuge}),
        {"train.csv: line 4, column 2: the field is longer", "is the quote not closed?"}},
       {train(good + "1," + std::string(65537, 'x') + "\n"),
        {"train.csv:4: has 65537 tokens; at most 65536 are allowed"}},
       {train("0,1\n"), {"train.csv: line 1: both \"0\" and \"1\" are labels; a header"}},
       {train("id,value\n0,a\n"), {"train.csv: line 1: cannot tell label from text: the first"}},
       {train("0\ta\n"), {"train.csv: line 1, column 1: the row ends; 2 columns"}},
       {train("a,b,label,text\n"), {"train.csv: line 1, column 2: a further column"}}});
}

TEST_F(ReviewReaderTest, TheFirstWrongRowIsNamedWhateverTheThreads) {
  std::string rows;
  for (int i = 0; i < 3000; ++i) absl::StrAppend(&rows, i % 1000 == 700 ? "x,a\n" : "0,a\n");
  Entries entries = GoodTables();
  Put("test.csv", rows)(&entries);
  for (int threads : {1, 2, 8}) {
    EXPECT_THAT(std::string(Import(WriteFolder(entries), threads).status().message()),
                HasSubstr("test.csv: line 701: "));
  }
}

TEST_F(ReviewReaderTest, WhatWasThereStaysWhenAnImportFails) {
  ExpectImports(WriteFolder(GoodTree()));
  const auto before = Contents(Out());
  PrepareOptions options{.task = "text", .raw = WriteFolder({}), .out = Out(), .quiet = true};
  for (bool force : {false, true}) {
    options.force = force;
    EXPECT_EQ(Prepare(options).status().code(), kMissing);
    EXPECT_EQ(Contents(made_).size(), before.size());  // nothing is left beside it
    EXPECT_EQ(Contents(Out()), before);
  }
  options.raw = WriteFolder(GoodTables());
  EXPECT_EQ(Prepare(options)->manifest.sources_size(), 2);
}

// Imports aclImdb_v1.tar.gz. The fingerprints were computed with Python's tarfile and hashlib.
TEST_F(ReviewReaderTest, RealReviewsAreAllThere) {
  const std::string raw = RealData("aclImdb_v1.tar.gz");
  if (raw.empty()) GTEST_SKIP() << "LRA_TEST_DATA has no aclImdb_v1.tar.gz";
  const Manifest manifest = ExpectImports(raw);
  ASSERT_EQ(manifest.splits_size(), 2);
  for (const ManifestSplit& split : manifest.splits()) {
    EXPECT_THAT(split.label_count(), ElementsAre(12500, 12500));
  }
  std::vector<std::string> duplicates;
  for (const DuplicateExamples& entry : manifest.duplicates()) {
    duplicates.push_back(
        absl::StrCat(entry.earlier_split(), " ", entry.split(), " ", entry.count()));
  }
  EXPECT_THAT(duplicates, ElementsAre("train train 96", "train test 123", "test test 199"));
  EXPECT_EQ(manifest.splits(0).content_fingerprint(),
            "86f8d2e05c5f6de74dcc836fd8cacf03642d80bd6d05d8700bba0eba62624a6e");
  EXPECT_EQ(manifest.splits(1).content_fingerprint(),
            "575d04de0440a1f030895d2dc9e0cd2c8d29526d6f2d3fd18609a9c06f240773");
}

}  // namespace
}  // namespace lra
