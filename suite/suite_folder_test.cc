#include "suite/suite_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "lra/textproto.h"
#include "suite/cells.h"

namespace lra {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ClaimSuiteFolder, RefusesAnotherSuite) {
  const TestFolder folder;
  SuiteFile suite;
  suite.add_group()->add_task("listops");
  ASSERT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  ASSERT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  suite.mutable_group(0)->add_task("text");
  EXPECT_THAT(std::string(ClaimSuiteFolder(folder.path(), suite).message()),
              HasSubstr("another suite"));
}

TEST(ClaimSuiteFolder, SaysHowASuiteWithMoreSeedsGoesOn) {
  const TestFolder folder;
  SuiteFile suite;
  suite.add_group()->set_seeds("0-2");
  ASSERT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  suite.mutable_group(0)->set_seeds("0-3");
  EXPECT_THAT(std::string(ClaimSuiteFolder(folder.path(), suite).message()),
              HasSubstr(absl::StrCat("choose another --out, where --reuse ", folder.path(),
                                     " takes over")));
}

TEST(ClaimSuiteFolder, TheEncoderMayMove) {
  const TestFolder folder;
  SuiteFile suite;
  suite.add_group()->add_set("encoder_weights_sha256=1a");
  suite.set_init_from("/here/model.safetensors");
  ASSERT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  suite.set_init_from("/there/model.safetensors");
  ASSERT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  EXPECT_EQ(SuiteOfFolder(folder.path())->init_from(), "/there/model.safetensors");
  suite.mutable_group(0)->set_set(0, "encoder_weights_sha256=2b");
  EXPECT_THAT(std::string(ClaimSuiteFolder(folder.path(), suite).message()),
              HasSubstr("another suite"));
}

TEST(ClaimSuiteFolder, EncodersOfSeedsMayLieElsewhereButAreTheSame) {
  const TestFolder folder;
  SuiteFile suite;
  suite.add_group()->add_set("encoder_weights_sha256={init-from}");
  SuiteEncoder& encoder = *suite.add_encoder();
  encoder.set_weights_sha256("1a");
  suite.set_init_from("/here/s{seed}");
  ASSERT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  suite.set_init_from("/there/s{seed}");
  ASSERT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  EXPECT_EQ(SuiteOfFolder(folder.path())->init_from(), "/there/s{seed}");
  EXPECT_EQ(SuiteOfFolder(folder.path())->encoder(0).weights_sha256(), "1a");
  encoder.set_weights_sha256("2b");
  EXPECT_THAT(std::string(ClaimSuiteFolder(folder.path(), suite).message()),
              HasSubstr("another suite"));
}

// Its runs would lie below a run, where listings do not look.
TEST(ClaimSuiteFolder, RefusesTheFolderOfARun) {
  const TestFolder folder;
  for (const char* trace : {"record.textproto", "curve.jsonl"}) {
    const std::string run = folder.File(absl::StrCat("with-", trace));
    ASSERT_EQ(MakeDirectories(run), absl::OkStatus());
    ASSERT_EQ(WriteFileAtomically(JoinPath(run, trace), ""), absl::OkStatus());
    const absl::Status refused = ClaimSuiteFolder(run, SuiteFile());
    EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("is the folder of a run"));
    EXPECT_FALSE(FileExists(JoinPath(run, "suite.textproto")));
    EXPECT_FALSE(FileExists(JoinPath(run, "logs")));
    EXPECT_THAT(std::string(ClaimSuiteFolder(JoinPath(run, "deeper"), SuiteFile()).message()),
                HasSubstr("is the folder of a run"));
  }
}

TEST(ClaimSuiteFolder, ARunFileSaysItsProtocol) {
  const TestFolder folder;
  const std::string file = folder.File("mine.textproto");
  ASSERT_EQ(WriteFileAtomically(file, "protocol: \"strong@1\""), absl::OkStatus());
  SuiteFile suite;
  suite.add_group()->set_run_file(file);
  ASSERT_EQ(ClaimSuiteFolder(folder.File("out"), suite), absl::OkStatus());
  EXPECT_EQ(SuiteOfFolder(folder.File("out"))->group(0).protocol(), "strong@1");
}

// The folder is whole without the file, wherever it is read from.
TEST(ClaimSuiteFolder, KeepsRunFilesAndKnowsThemAgain) {
  const TestFolder folder;
  const std::string file = folder.File("mine.textproto"), out = folder.File("out");
  ASSERT_EQ(WriteFileAtomically(file, "overrides { train { steps: 7 } }"), absl::OkStatus());
  SuiteFile suite;
  SuiteGroup& group = *suite.add_group();
  group.add_task("listops");
  group.add_attention("linear");
  group.set_run_file(file);
  ASSERT_EQ(ClaimSuiteFolder(out, suite), absl::OkStatus());
  ASSERT_EQ(ClaimSuiteFolder(out, suite), absl::OkStatus());
  SuiteFile stated = *WithRunFilesOf(out, suite);
  EXPECT_THAT(stated.group(0).run_file(), StartsWith(out + "/run_files/"));
  stated.mutable_group(0)->set_run_file(file);
  EXPECT_EQ(stated.ShortDebugString(), suite.ShortDebugString());  // no version is added

  ASSERT_EQ(WriteFileAtomically(file, "overrides { train { steps: 8 } }"), absl::OkStatus());
  EXPECT_THAT(std::string(ClaimSuiteFolder(out, suite).message()), HasSubstr("another suite"));

  ASSERT_EQ(RemoveAll(file), absl::OkStatus());
  EXPECT_EQ(ClaimSuiteFolder(out, suite).code(), absl::StatusCode::kNotFound);
  const std::string moved = folder.File("moved");
  std::filesystem::rename(out, moved);
  const SuiteFile kept = *SuiteOfFolder(moved);
  EXPECT_THAT(kept.group(0).run_file(), StartsWith(moved + "/run_files/"));
  EXPECT_EQ(ExpandSuite(kept)->at(0).config.train().steps(), 7);
  EXPECT_EQ(ClaimSuiteFolder(moved, kept), absl::OkStatus());
}

// Folders of before name the user's file, and hold no copy of it.
void ExpectCopyOf(const std::string& file, const TestFolder& folder) {
  const std::string out = folder.File("out");
  ASSERT_EQ(WriteFileAtomically(file, "protocol: \"strong\""), absl::OkStatus());
  SuiteFile suite;
  suite.add_group()->set_run_file(file);
  ASSERT_EQ(MakeDirectories(out), absl::OkStatus());
  ASSERT_EQ(WriteFileAtomically(JoinPath(out, kSuiteFile), ToTextProto(suite)), absl::OkStatus());
  EXPECT_EQ(SuiteOfFolder(out)->group(0).run_file(), file);
  ASSERT_EQ(ClaimSuiteFolder(out, suite), absl::OkStatus());
  EXPECT_THAT(SuiteOfFolder(out)->group(0).run_file(), StartsWith(out + "/run_files/"));
}

TEST(ClaimSuiteFolder, CopiesTheRunFileOfAFolderThatHasNone) {
  const TestFolder folder;
  ExpectCopyOf(folder.File("mine.textproto"), folder);
}

// It began in the folder where the suite was begun.
TEST(ClaimSuiteFolder, CopiesTheRunFileOfARelativePath) {
  const TestFolder folder;
  const WorkingFolder here(folder.path());
  ExpectCopyOf("mine.textproto", folder);
}

TEST(ClaimSuiteFolder, KeepsTheVersionsOfItsProtocols) {
  const TestFolder folder;
  SuiteFile suite;
  suite.add_group()->set_protocol("strong");
  suite.add_group();  // under the default
  ASSERT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  SuiteFile there = *SuiteOfFolder(folder.path());
  const std::string now = absl::StrCat("strong@", LoadFragment("protocols", "strong")->version());
  EXPECT_EQ(there.group(0).protocol(), now);
  EXPECT_THAT(there.group(1).protocol(), HasSubstr("fair@"));
  EXPECT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());

  there.mutable_group(0)->set_protocol("strong@1");  // as if begun before version 2
  const std::string path = JoinPath(folder.path(), "suite.textproto");
  ASSERT_EQ(WriteFileAtomically(path, ToTextProto(there)), absl::OkStatus());
  EXPECT_THAT(std::string(ClaimSuiteFolder(folder.path(), suite).message()),
              HasSubstr(absl::StrCat("its runs are under strong@1 (now ", now, ")")));
  EXPECT_EQ(ClaimSuiteFolder(folder.path(), there), absl::OkStatus());
}

TEST(ClaimSuiteFolder, GoesOnWhereOnlyTheDescriptionIsAnother) {
  const TestFolder folder;
  SuiteFile suite;
  suite.set_description("About an hour");
  suite.add_group()->add_task("listops");
  ASSERT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  suite.set_description("0.4 hours");
  EXPECT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  suite.mutable_group(0)->set_seeds("0-4");
  EXPECT_EQ(ClaimSuiteFolder(folder.path(), suite).code(), absl::StatusCode::kFailedPrecondition);
}

// A folder of before, which names no version: nobody knows of which its runs are.
TEST(ClaimSuiteFolder, GuessesNoVersion) {
  const TestFolder folder;
  SuiteFile suite;
  suite.add_group()->set_protocol("strong");
  const std::string path = JoinPath(folder.path(), "suite.textproto");
  ASSERT_EQ(WriteFileAtomically(path, ToTextProto(suite)), absl::OkStatus());
  EXPECT_EQ(ClaimSuiteFolder(folder.path(), suite), absl::OkStatus());
  suite.mutable_group(0)->set_protocol("strong@1");
  EXPECT_THAT(std::string(ClaimSuiteFolder(folder.path(), suite).message()),
              HasSubstr("a protocol without a version is today's"));
}

}  // namespace
}  // namespace lra
