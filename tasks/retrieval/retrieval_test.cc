// Imports pairs of documents as a user does, in every kind of archive, and broken files.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "datasets/archive.h"
#include "datasets/dataset.h"
#include "datasets/mapped_split.h"
#include "datasets/split_view.h"
#include "lra/files.h"
#include "tasks/import_test_util.h"
#include "tasks/line_reader.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kMissing = absl::StatusCode::kNotFound;
constexpr int64_t kHuge = int64_t{64} << 20;
const std::string kFolder = "lra_release/lra_release/tsv_data/";
const std::string kTrain = kFolder + "new_aan_pairs.train.tsv";
const std::string kEval = kFolder + "new_aan_pairs.eval.tsv";
const std::string kTest = kFolder + "new_aan_pairs.test.tsv";

const std::string kGood =
    "1.0\tP11-1001\tW05-0206\tb'1 Introduction\\n'\tb\"It's plain\"\n"
    "0.0\tA\tB\tone\ttwo\n";

Entries GoodFiles() {
  return {{kFolder + "README", "words"},
          {kEval, "0\tA\tB\tthree\tfour\n"},
          {kTest, "1\tA\tB\tfive\tone\r\n0\tA\tC\tone\ttwo\r\n"},
          {kTrain, kGood}};
}

class RetrievalTest : public ImportTestBase {
 protected:
  RetrievalTest() : ImportTestBase("retrieval") {}

  // Every example as "label|text|text", as it is stored.
  std::vector<std::string> Stored(const std::string& split) const {
    const Dataset data = *Dataset::Open(Out(), {});
    std::vector<std::string> examples;
    for (int64_t i = 0; i < data.split(split)->examples; ++i) {
      const auto a = data.split(split)->Bytes(i, 0), b = data.split(split)->Bytes(i, 1);
      examples.push_back(absl::StrCat(data.split(split)->label(i), "|",
                                      std::string(a.begin(), a.end()), "|",
                                      std::string(b.begin(), b.end())));
    }
    return examples;
  }

  void ExpectTrainRefused(const std::vector<std::pair<Entry, std::vector<std::string>>>& table) {
    std::vector<Broken> rows;
    for (const auto& [entry, words] : table) rows.push_back({Put(entry), words});
    ExpectRefused(GoodFiles(), rows);
  }
};

TEST_F(RetrievalTest, TheSampleIsTheSameFromEveryWrapping) {
  const Manifest manifest = ExpectSameFromEveryWrapping();
  EXPECT_TRUE(manifest.spec().is_pair());
  EXPECT_THAT(manifest.splits(0).label_count(), ElementsAre(6, 6));
}

TEST_F(RetrievalTest, BothTextsAndTheLabelAreKeptAsTheyStandThere) {
  const Manifest manifest = ExpectImports(WriteTar(GoodFiles()));
  EXPECT_THAT(Stored("train"), ElementsAre("1|b'1 Introduction\\n'|b\"It's plain\"", "0|one|two"));
  EXPECT_THAT(Stored("validation"), ElementsAre("0|three|four"));
  EXPECT_THAT(Stored("test"), ElementsAre("1|five|one", "0|one|two"));
  EXPECT_THAT(manifest.splits(0).label_count(), ElementsAre(1, 1));
  ASSERT_EQ(manifest.sources_size(), 3);
  EXPECT_EQ(manifest.sources(2).name(), "new_aan_pairs.train.tsv");
  EXPECT_EQ(manifest.sources(2).sha256(), Sha256Hex(kGood));
  // One pair of train occurs twice in test; both of these examples have a text of train.
  ASSERT_EQ(manifest.duplicates_size(), 1);
  EXPECT_EQ(manifest.duplicates(0).count(), 1);
  ASSERT_EQ(manifest.shared_documents_size(), 1);
  EXPECT_EQ(manifest.shared_documents(0).split(), "test");
  EXPECT_EQ(manifest.shared_documents(0).shared(), 2);
  EXPECT_EQ(manifest.shared_documents(0).documents(), 3);
  EXPECT_EQ(manifest.shared_documents(0).examples(), 2);
}

TEST_F(RetrievalTest, TextsAreCutAtTenThousandBytesAndMayBeAnyBytes) {
  const std::string odd("\0\xff\xfe caf\xe9\r\"' \x1b", 13);
  std::string rows;
  for (int size : {9999, 10000, 10001, 2000000}) {
    absl::StrAppend(&rows, "0\tA\tB\t", std::string(size, 'x'), "\t", odd, "\r\n");
  }
  Entries entries = GoodFiles();
  Put(kTrain, rows)(&entries);
  ExpectImports(WriteTar(entries));
  const std::vector<std::string> stored = Stored("train");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(stored[i], absl::StrCat("0|", std::string(i == 0 ? 9999 : 10000, 'x'), "|", odd));
  }
}

// Literals are stored whole or cut; the view decodes both columns.
TEST_F(RetrievalTest, AViewReadsBothTexts) {
  ExpectImports(WriteTar(GoodFiles()));
  DataView view;
  view.set_literals(DataView::DECODED);
  view.set_max_length_tokens(5);
  const Dataset data = *Dataset::Open(Out(), {.splits = {"train"}, .view = &view});
  const SplitView train = *SplitView::Create(data, "train", view);
  std::vector<int32_t> ids;
  train.Read(0, &ids, 0);
  EXPECT_THAT(ids, ElementsAre('1' + 1, ' ' + 1, 'I' + 1, 'n' + 1, 't' + 1));
  train.Read(0, &ids, 1);
  EXPECT_THAT(ids, ElementsAre('I' + 1, 't' + 1, '\'' + 1, 's' + 1, ' ' + 1));
  EXPECT_EQ(train.length_tokens(1, 0), 3);
}

TEST_F(RetrievalTest, LinksDevicesAndPathsOutOfTheArchiveTouchNothing) {
  const std::vector<std::string> names = {kTrain, "new_aan_pairs.eval.tsv",
                                          "../new_aan_pairs.test.tsv"};
  ExpectLinksRefused(GoodFiles(), names);
  Entries hostile = HostileEntries(names);
  hostile.push_back({"../../escaped.tsv", "written?"});
  hostile.push_back({"/tmp/lra-escaped.tsv", "written?"});
  hostile.push_back({kFolder + "my_new_aan_pairs.train.tsv", "", AE_IFREG, kHuge});  // not unpacked
  ExpectPassedOver(GoodFiles(), hostile);
  EXPECT_FALSE(FileExists("/tmp/lra-escaped.tsv"));
}

TEST_F(RetrievalTest, CutArchivesAreRefused) {
  Entries entries = GoodFiles();
  for (int i = 0; i < 200; ++i) absl::StrAppend(&entries.back().bytes, "0\tA\tB\t", i, "\ttext\n");
  ExpectCutsAreRefused(entries, false);
}

// What follows the third file is not read: the release goes on for gigabytes.
TEST_F(RetrievalTest, NothingIsReadBehindTheLastFile) {
  Entries entries = GoodFiles();
  ExpectImports(WriteTar(entries));
  const auto expected = Contents(Out());
  constexpr int64_t kMore = 4 << 20;
  entries.push_back({"lra_release/more", "", AE_IFREG, kMore});
  const std::string path = WriteTar(entries, Wrapping::kTar), bytes = *ReadFile(path);
  ASSERT_TRUE(WriteFileAtomically(path, bytes.substr(0, bytes.size() - kMore / 2)).ok());
  ExpectImports(path);
  EXPECT_EQ(Contents(Out()), expected);
}

TEST_F(RetrievalTest, BrokenLinesAreRefused) {
  const std::string at = kTrain + ":3: ";
  const auto third = [](const std::string& line, int64_t zeros = 0) {
    return Entry{kTrain, kGood + line, AE_IFREG, zeros};
  };
  const std::string too_long = "0\tA\tB\tone\t" + std::string(kMaxLineBytes, 'x') + "\n";
  ExpectTrainRefused(
      {{third("1.0\tA\tB\tone\n"), {at + "the line has 4 columns; 5 with one tab between them"}},
       {third("1.0\tA\tB\tone\ttwo\tthree\n"), {at + "the line has 6 columns; 5 with"}},
       {third("1.0\tA\tB\tone\ttwo\t\n"), {at + "the line has 6 columns; 5 with"}},
       {third("1.0 A B one two\n"), {at + "the line has 1 column; 5 with"}},
       {third("\n"), {at + "the line has 1 column; 5 with"}},
       {third("\r\n"), {at + "the line has 1 column; 5 with"}},
       {third("2\tA\tB\tone\ttwo\n"), {at + "column 1 (byte 1), label, is \"2\"; 0 or 1, or"}},
       {third("0.5\tA\tB\tone\ttwo\n"), {at + "column 1 (byte 1), label, is \"0.5\""}},
       {third("-1\tA\tB\tone\ttwo\n"), {at + "column 1 (byte 1), label, is \"-1\""}},
       {third("\tA\tB\tone\ttwo\n"), {at + "column 1 (byte 1), label, is \"\""}},
       {third(std::string("1\0\tA\tB\tone\ttwo\n", 15)), {at + "column 1", "is \"1\\x00\"; 0"}},
       {third("1\t\tB\tone\ttwo\n"), {at + "column 2 (byte 3), id 1, is empty"}},
       {third("1\tA\t\tone\ttwo\n"), {at + "column 3 (byte 5), id 2, is empty"}},
       {third("1\tA\tB\t\ttwo\n"), {at + "column 4 (byte 7), text 1, is empty"}},
       {third("1\tA\tB\tone\t\n"), {at + "column 5 (byte 11), text 2, is empty"}},
       {third("1\tA\tB\tone\t\r\n"), {at + "column 5 (byte 11), text 2, is empty"}},
       {third("1\tA\tB\tone\ttw"), {at + "the last line has no line end: the file was cut off"}},
       {third("1"), {at + "the last line has no line end: the file was cut off"}},
       {third(too_long), {at + "the line is longer than 4194304 bytes"}},
       {third("", kHuge), {at + "the line is longer than 4194304 bytes"}},
       {third("1\tA\tB\tone\t", kHuge), {at + "the line is longer than 4194304 bytes"}},
       {{kTrain, "label\tid1\tid2\ttext1\ttext2\n"}, {kTrain + ":1: column 1", "is \"label\"; 0"}},
       {{kTrain, "\xef\xbb\xbf" + kGood}, {kTrain + ":1: column 1", "\"\\xef\\xbb\\xbf"}},
       {{kTrain, std::string("\xff\xfe"
                             "1\0\t\0A\0\t\0",
                             10)},
        {kTrain + ":1: the last line has no line end"}},
       {{kTrain, ""}, {kTrain + ":0: the file has no examples"}}});
}

TEST_F(RetrievalTest, MissingAndDoubleFilesAreRefused) {
  ExpectRefused(
      GoodFiles(),
      {{Drop(kEval), {raw_, " has no file new_aan_pairs.eval.tsv"}, kMissing},
       {Drop(kFolder + "new"),
        {raw_,
         " has no file new_aan_pairs.train.tsv, new_aan_pairs.eval.tsv, new_aan_pairs.test.tsv"},
        kMissing},
       {All({Drop(kEval), Put(kFolder + "new_aan_pairs.eval.tsv.gz", "x"),
             Put(kFolder + "._new_aan_pairs.eval.tsv", "x"),
             Put(kFolder + "new_aan_pairs.eval.TSV", "x")}),
        {" has no file new_aan_pairs.eval.tsv"},
        kMissing},
       {Put({kEval, kTest, 0u}), {kEval + ": is a hard link to " + kTest}},
       {Put({kEval, "new_aan_pairs.test.tsv", AE_IFLNK}),
        {kEval + ": is a link to new_aan_pairs.test.tsv"}},
       {[](Entries* entries) {
          entries->insert(entries->begin(), {kTest, "0\tA\tB\tx\ty\n"});
        },
        {" holds new_aan_pairs.test.tsv twice, the second time as " + kTest}},
       {[](Entries* entries) {
          entries->insert(entries->begin(), {"a/new_aan_pairs.eval.tsv", "0\tA\tB\tx\ty\n"});
        },
        {" holds new_aan_pairs.eval.tsv twice, the second time as " + kEval}}});
}

TEST_F(RetrievalTest, TheFirstWrongLineIsNamedWhateverTheThreads) {
  std::string rows;
  for (int i = 0; i < 3000; ++i) absl::StrAppend(&rows, i % 1000 == 700 ? 2 : 1, "\tA\tB\tx\ty\n");
  Entries entries = GoodFiles();
  Put(kTest, rows)(&entries);
  for (int threads : {1, 2, 8}) {
    EXPECT_THAT(std::string(Import(WriteFolder(entries), threads).status().message()),
                HasSubstr("new_aan_pairs.test.tsv:701: "));
  }
}

// Compares the sample of the release with its lines split at their tabs.
TEST_F(RetrievalTest, RealPairsAreAllThere) {
  const std::string raw = RealData("lra_release-sample.gz");
  if (raw.empty()) GTEST_SKIP() << "LRA_TEST_DATA has no lra_release-sample.gz";
  const Manifest manifest = ExpectImports(raw);
  EXPECT_EQ(manifest.splits(0).examples(), 800);
  EXPECT_EQ(manifest.splits(1).examples(), 150);
  EXPECT_EQ(manifest.splits(2).examples(), 150);
  auto source = *OpenRawSource(raw);
  int files = 0;
  while (const auto entry = *source->Next()) {
    std::string text, split;
    for (const auto& [file, name] : std::map<std::string, std::string>{
             {kTrain, "train"}, {kEval, "validation"}, {kTest, "test"}}) {
      const size_t slash = file.rfind('/');
      if (absl::StrContains(entry->name, file.substr(slash))) split = name;
    }
    if (split.empty()) continue;
    ++files;
    char buffer[4096];
    while (const size_t count = *source->Read(buffer, sizeof(buffer))) text.append(buffer, count);
    const std::vector<std::string> stored = Stored(split);
    size_t i = 0;
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const std::vector<absl::string_view> columns = absl::StrSplit(line, '\t');
      ASSERT_LT(i, stored.size());
      EXPECT_EQ(stored[i++], absl::StrCat(columns[0].substr(0, 1), "|", columns[3].substr(0, 10000),
                                          "|", columns[4].substr(0, 10000)));
    }
    EXPECT_EQ(i, stored.size());
  }
  EXPECT_EQ(files, 3);
}

}  // namespace
}  // namespace lra
