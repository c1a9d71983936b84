// Imports ListOps: good files in every kind of archive, and broken ones.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "lra/files.h"
#include "tasks/import_test_util.h"
#include "tasks/inventory.h"
#include "tasks/line_reader.h"
#include "tasks/prepare.h"
#include "tasks/verify.h"

namespace lra {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Files = std::map<std::string, std::string>;

Files GoodFiles() {
  return {{"basic_train.tsv",
           "Source\tTarget\r\n"
           "( ( ( [MAX 2 ) 9 ) ] )\t9\r\n"
           "( ( ( ( [MIN 4 ) ( ( ( [SM 7 ) 8 ) ] ) ) 6 ) ] )\t4\r\n"
           "( ( ( [MAX 2 ) 9 ) ] )\t9\r\n"},
          {"basic_val.tsv", "Source\tTarget\n( ( ( [MED 1 ) 2 ) ] )\t1\n"},  // LF
          {"basic_test.tsv", "Source\tTarget\r\n( ( ( [MAX 2 ) 9 ) ] )\t9\r\n3\t3\r\n"}};
}

Entries EntriesOf(const Files& files) {
  Entries entries;
  for (const auto& [name, text] : files) {
    entries.push_back({"lra_release/lra_release/listops-1000/" + name, text});
  }
  return entries;
}

class ImportTest : public ImportTestBase {
 protected:
  ImportTest() : ImportTestBase("listops") {}

  std::string WriteFolder(const Files& files) {
    return ImportTestBase::WriteFolder(EntriesOf(files));
  }
  std::string WriteTar(const Files& files) { return ImportTestBase::WriteTar(EntriesOf(files)); }

  // The error after changing one of the good files; expects that nothing is left behind.
  std::string Refused(const std::string& file, const std::string& text) {
    Files files = GoodFiles();
    files[file] = text;
    const absl::Status status = Refusal(WriteFolder(files));
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    return std::string(status.message());
  }

  const std::string out_ = Out();
};

TEST_F(ImportTest, TheSampleIsTheSameFromEveryWrapping) { ExpectSameFromEveryWrapping(); }

TEST_F(ImportTest, ReadsTheOfficialFiles) {
  const auto result = Import(WriteFolder(GoodFiles()));
  ASSERT_TRUE(result.ok()) << result.status();
  const Manifest& manifest = result->manifest;
  EXPECT_EQ(manifest.origin(), "imported");
  ASSERT_EQ(manifest.splits_size(), 3);
  EXPECT_EQ(manifest.splits(0).examples(), 3);
  EXPECT_EQ(manifest.splits(1).name(), "validation");
  ASSERT_EQ(manifest.sources_size(), 3);
  EXPECT_EQ(manifest.sources(1).name(), "basic_train.tsv");
  EXPECT_EQ(manifest.sources(1).sha256(), Sha256Hex(GoodFiles()["basic_train.tsv"]));
  EXPECT_EQ(manifest.sources(1).size_bytes(),
            static_cast<int64_t>(GoodFiles()["basic_train.tsv"].size()));
  // Duplicates are within train, and between test and train.
  ASSERT_EQ(manifest.duplicates_size(), 2);
  EXPECT_EQ(manifest.duplicates(0).split(), "train");
  EXPECT_EQ(manifest.duplicates(1).split(), "test");
  EXPECT_EQ(manifest.duplicates(1).earlier_split(), "train");
  EXPECT_EQ(manifest.duplicates(1).count(), 1);
  const auto shown = ShowExamples(out_, "train", 10);
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ((*shown)[1].source, "[MIN 4 [SM 7 8 ] 6 ]");
  EXPECT_EQ((*shown)[1].label, 4);
  const auto report = VerifyDataset(out_, {.quiet = true});
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_EQ(report->labels_checked, 6);
}

TEST_F(ImportTest, FolderAndArchiveGiveTheSameBytes) {
  ASSERT_TRUE(Import(WriteFolder(GoodFiles())).ok());
  const auto from_folder = Contents(out_);
  const auto again = Import(WriteTar(GoodFiles()));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->was_there);
  ASSERT_TRUE(RemoveAll(out_).ok());
  ASSERT_TRUE(Import(WriteTar(GoodFiles()), 8).ok());
  EXPECT_EQ(Contents(out_), from_folder);
  Files other = GoodFiles();
  other["basic_val.tsv"] = "Source\tTarget\n5\t5\n";
  EXPECT_EQ(Import(WriteFolder(other)).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Contents(out_), from_folder);
}

// The import reads from a pipe, which it opens when it has found the target free and begun.
TEST_F(ImportTest, DataThatAppearsMeanwhileIsKept) {
  namespace fs = std::filesystem;
  const std::string tar = *ReadFile(WriteTar(GoodFiles()));
  Files other = GoodFiles();
  other["basic_val.tsv"] = "Source\tTarget\n5\t5\n";
  const std::string pipe = folder_.File("pipe"), faster = folder_.File("faster");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const bool is_same : {true, false}) {
    ASSERT_TRUE(RemoveAll(out_).ok());
    ASSERT_TRUE(Import(WriteFolder(is_same ? GoodFiles() : other)).ok());
    const auto before = Contents(out_);
    fs::rename(out_, faster);
    std::thread writer([&] {
      std::ofstream raw(pipe, std::ios::binary);
      std::error_code error;
      fs::rename(faster, out_, error);
      raw << tar;
    });
    const auto slower = Import(pipe);
    const std::fstream reader(pipe);  // so that the thread ends if the import has not read
    writer.join();
    EXPECT_EQ(Contents(out_), before);
    EXPECT_EQ(std::distance(fs::directory_iterator(made_), fs::directory_iterator()), 1);
    if (is_same) {
      ASSERT_TRUE(slower.ok()) << slower.status();
      EXPECT_TRUE(slower->was_there);
    } else {
      EXPECT_EQ(slower.status().code(), absl::StatusCode::kAlreadyExists);
      EXPECT_THAT(std::string(slower.status().message()), HasSubstr("holds other data"));
    }
  }
}

TEST_F(ImportTest, LinksDevicesAndPathsOutOfTheArchiveTouchNothing) {
  const std::vector<std::string> names = {"basic_val.tsv", "../basic_train.tsv"};
  ExpectLinksRefused(EntriesOf(GoodFiles()), names);
  Entries hostile = HostileEntries(names);
  hostile.push_back({"../../escaped.tsv", "written?"});
  ExpectPassedOver(EntriesOf(GoodFiles()), hostile);
}

TEST_F(ImportTest, WrongLabelsAreFoundByVerification) {
  Files files = GoodFiles();
  files["basic_val.tsv"] = "Source\tTarget\n( ( ( [MED 1 ) 2 ) ] )\t2\n";
  ASSERT_TRUE(Import(WriteFolder(files)).ok());
  const auto report = VerifyDataset(out_, {.quiet = true});
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(
      report->problems,
      testing::ElementsAre("split validation, example 0: its label is 2; evaluated anew it is 1"));
}

TEST_F(ImportTest, BadFilesAreRefusedWithFileAndLine) {
  const std::string head = "Source\tTarget\r\n", good = "( ( ( [MAX 2 ) 9 ) ] )\t9\r\n";
  EXPECT_THAT(Refused("basic_val.tsv", ""), HasSubstr("basic_val.tsv: the file is empty"));
  EXPECT_THAT(Refused("basic_val.tsv", head),
              HasSubstr("basic_val.tsv:1: the file has no examples"));
  EXPECT_THAT(Refused("basic_val.tsv", good), HasSubstr("basic_val.tsv:1: the header is \"( ( ("));
  EXPECT_THAT(Refused("basic_val.tsv", "Source,Target\r\n" + good),
              HasSubstr("not \"Source\\tTarget\""));
  EXPECT_THAT(Refused("basic_val.tsv", "\xef\xbb\xbf" + head + good),
              HasSubstr("the header is \"\\xef\\xbb\\xbf"));
  EXPECT_THAT(Refused("basic_test.tsv", head + good + "3\r\n"),
              HasSubstr("basic_test.tsv:3: there are not two columns"));
  EXPECT_THAT(Refused("basic_test.tsv", head + "3\t3\t3\r\n"),
              HasSubstr("basic_test.tsv:2: there are not two columns"));
  EXPECT_THAT(Refused("basic_test.tsv", head + "\r\n"), HasSubstr("basic_test.tsv:2"));
  EXPECT_THAT(Refused("basic_train.tsv", head + good + "3\t10\r\n"),
              HasSubstr("basic_train.tsv:3: column 3: the label is \"10\""));
  EXPECT_THAT(Refused("basic_train.tsv", head + "( ( ( [MAX 2 ) \xc3\x28 ) ] )\t9\r\n"),
              HasSubstr("basic_train.tsv:2: column 16: \"\\xc3(\""));
  EXPECT_THAT(Refused("basic_train.tsv", head + good + std::string("3\0\t3\r\n", 6)),
              HasSubstr("basic_train.tsv:3: column 1"));
  EXPECT_THAT(Refused("basic_train.tsv", head + good + "3\t3\rx\r\n"),
              HasSubstr("basic_train.tsv:3"));
  EXPECT_THAT(Refused("basic_train.tsv", head + good + "3\t3"),
              HasSubstr("basic_train.tsv:3: the last line has no line end"));
  EXPECT_THAT(Refused("basic_train.tsv", head + good + "( ( ( [MAX 2 ) 9"),
              HasSubstr("basic_train.tsv:3: the last line"));
  const std::string endless(kMaxLineBytes + 1, '(');
  EXPECT_THAT(Refused("basic_train.tsv", head + good + endless + "\r\n"),
              HasSubstr("basic_train.tsv:3: the line is longer than 4194304 bytes"));
  EXPECT_THAT(Refused("basic_train.tsv", head + endless + endless),
              HasSubstr("basic_train.tsv:2: the line is longer"));
  std::string wide = "[SM";  // 2,000 tokens, one more than allowed
  for (int i = 0; i < 1998; ++i) wide += " 1 )";
  for (int i = 0; i < 1999; ++i) wide = "( " + wide;
  EXPECT_THAT(Refused("basic_train.tsv", head + wide + " ] )\t8\r\n"),
              HasSubstr("basic_train.tsv:2: has 2000 tokens; at most 1999"));
}

TEST_F(ImportTest, TheFirstBadLineIsNamedWhateverTheThreads) {
  std::string text = "Source\tTarget\n";
  for (int i = 0; i < 3000; ++i) text += i % 1000 == 700 ? "3\tx\n" : "3\t3\n";
  Files files = GoodFiles();
  files["basic_test.tsv"] = text;
  for (int threads : {1, 2, 8}) {
    const absl::Status status = Import(WriteFolder(files), threads).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("basic_test.tsv:702: ")) << threads;
  }
}

TEST_F(ImportTest, MissingAndRepeatedFilesAreNamed) {
  Files files = GoodFiles();
  files.erase("basic_val.tsv");
  const absl::Status missing = Import(WriteFolder(files)).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("has no file basic_val.tsv"));
  EXPECT_EQ(Import(JoinPath(raw_, "nowhere")).status().code(), absl::StatusCode::kNotFound);
  // These names only resemble the file's name: one has a prefix, the other is what macOS puts
  // beside files.
  files["my_basic_val.tsv"] = files["._basic_val.tsv"] = "junk";
  EXPECT_EQ(Import(WriteFolder(files)).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(FileExists(out_));
}

TEST_F(ImportTest, ACutArchiveIsRefused) {
  Files files = GoodFiles();
  for (int i = 0; i < 30000; ++i)
    absl::StrAppend(&files["basic_val.tsv"], i % 10, "\t", i % 10, "\n");
  ExpectCutsAreRefused(EntriesOf(files), false);
}

// Imports an archive of real data in the official layout, if LRA_TEST_DATA has one.
TEST_F(ImportTest, RealSampleImportsAndVerifies) {
  const std::string raw = RealData("lra_release-sample.gz");
  if (raw.empty()) GTEST_SKIP() << "LRA_TEST_DATA has no lra_release-sample.gz";
  const auto result = Import(raw);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->manifest.splits(0).examples(), 1500);
  EXPECT_EQ(result->manifest.splits(1).examples(), 300);
  EXPECT_EQ(result->manifest.splits(2).examples(), 300);
  const auto report = VerifyDataset(out_, {.quiet = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_EQ(report->labels_checked, 2100);
}

}  // namespace
}  // namespace lra
