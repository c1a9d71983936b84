#include "suite/lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/folder_test_util.h"
#include "suite/cells.h"
#include "suite/suite_folder.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SuiteOfLists, IsTheProduct) {
  const ExperimentChoice choice = {.task = "listops,text",
                                   .attention = "relu,cosformer",
                                   .preset = "smoke",
                                   .sets = {"train.steps=5"}};
  const SuiteFile suite = *SuiteOfLists(choice, "0-2");
  const std::vector<SuiteCell> cells = *ExpandSuite(suite);
  ASSERT_EQ(cells.size(), 2u * 2 * 3);
  EXPECT_EQ(cells[3].config.task(), "text");
  EXPECT_EQ(cells[3].config.attention().name(), "cosformer");
  EXPECT_EQ(cells[3].config.train().steps(), 5);
  EXPECT_EQ(cells[11].seed, 2u);
  EXPECT_EQ(DefaultListFolder(suite, "").substr(0, 11), "runs/lists-");
  EXPECT_NE(DefaultListFolder(suite, ""), DefaultListFolder(*SuiteOfLists(choice, "0-3"), ""));
  SuiteFile from = suite, from_copy = suite;
  from.set_init_from("/a");
  from_copy.set_init_from("/b");
  EXPECT_EQ(DefaultListFolder(from, ""), DefaultListFolder(from_copy, ""));
  EXPECT_THAT(
      std::string(SuiteOfLists({.task = "listops,", .attention = "relu"}, "0").status().message()),
      HasSubstr("--task \"listops,\" has an empty name"));
}

// It was named after the encoder's place as well.
TEST(DefaultListFolder, IsThatOfAnEarlierBuildWhereItHasBegun) {
  const TestFolder folder;
  const WorkingFolder here(folder.path());
  SuiteFile suite = *SuiteOfLists({.task = "listops", .attention = "relu"}, "0");
  suite.set_init_from("/a");
  const std::string before = absl::StrCat("runs/lists-", ShortFingerprint(Fingerprint(suite)));
  ASSERT_EQ(MakeDirectories(before), absl::OkStatus());
  EXPECT_NE(DefaultListFolder(suite, ""), before) << "it holds no suite";
  ASSERT_EQ(WriteFileAtomically(JoinPath(before, kSuiteFile), ""), absl::OkStatus());
  EXPECT_EQ(DefaultListFolder(suite, ""), before);
}

TEST(SuiteOfLists, TakesTheRunFilesTaskWhereNoneIsGiven) {
  const TestFolder folder;
  const std::string path = folder.File("mine.textproto");
  ASSERT_TRUE(WriteFileAtomically(path,
                                  "task: \"listops\" attention: \"relu\" preset: \"smoke\" "
                                  "overrides { train { steps: 7 } seed: 3 }")
                  .ok());
  const SuiteFile suite = *SuiteOfLists({.attention = "linear,relu", .run_file = path}, "");
  EXPECT_THAT(suite.group(0).task(), ElementsAre("listops"));
  const std::vector<SuiteCell> cells = *ExpandSuite(suite);
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].config.train().steps(), 7);
  EXPECT_EQ(cells[0].config.preset().substr(0, 5), "smoke");
  EXPECT_EQ(cells[1].seed, 3u) << "its seed, where none is given";
  EXPECT_EQ(cells[1].config.seed(), 3u);
  const SuiteFile seeds = *SuiteOfLists({.attention = "linear,relu", .run_file = path}, "0-1");
  EXPECT_EQ((*ExpandSuite(seeds))[2].seed, 1u);
  EXPECT_THAT(SuiteOfLists({.task = "listops,text", .run_file = path}, "0")->group(0).attention(),
              ElementsAre("relu"));
}

}  // namespace
}  // namespace lra
