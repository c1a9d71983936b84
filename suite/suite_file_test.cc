#include "suite/suite_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/experiment.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "suite/cells.h"
#include "suite/lists.h"

namespace lra {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LoadSuite, EveryFileOfTheProjectExpands) {
  for (const std::string& name : ConfigNames("suites")) {
    const auto suite = LoadSuite(name);
    ASSERT_TRUE(suite.ok()) << suite.status();
    EXPECT_NE(suite->description(), "") << name;
    const auto cells = ExpandSuite(*suite);
    EXPECT_TRUE(cells.ok()) << name << ": " << cells.status();
  }
  EXPECT_EQ(SuiteName("a/b/mine.textproto"), "mine");
  EXPECT_EQ(SuiteName("mine"), "mine");
}

TEST(LoadSuite, ARunFileIsToldApartFromASuite) {
  const TestFolder folder;
  const std::string suite = folder.File("suite.textproto"), run = folder.File("run.textproto"),
                    neither = folder.File("neither.textproto");
  ASSERT_TRUE(WriteFileAtomically(suite, "group { task: \"listops\" attention: \"relu\" }").ok());
  ASSERT_TRUE(WriteFileAtomically(run, "task: \"listops\" attention: \"relu\"").ok());
  ASSERT_TRUE(WriteFileAtomically(neither, "grupe { task: \"listops\" }").ok());
  const auto as_suite = [](const std::string& path) {
    return std::string(LoadSuite(path).status().message());
  };
  const auto as_run = [](const std::string& path) {
    return std::string(ResolveExperiment({.run_file = path}).status().message());
  };
  EXPECT_THAT(as_suite(run),
              EndsWith(absl::StrCat("; this is a run file: lra train --config ", run)));
  EXPECT_THAT(as_run(suite), EndsWith(absl::StrCat("; this is a suite: lra run ", suite)));
  EXPECT_THAT(std::string(SuiteOfLists({.run_file = suite}, "0").status().message()),
              EndsWith(absl::StrCat("; this is a suite: lra run ", suite)));
  EXPECT_EQ(as_suite(suite), "");
  EXPECT_EQ(as_run(run), "");
  for (const std::string& message : {as_suite(neither), as_run(neither)}) {
    EXPECT_THAT(message, HasSubstr("has no field named \"grupe\""));
    EXPECT_THAT(message, Not(HasSubstr("this is a ")));
  }
}

TEST(LoadSuite, ARunFileLiesBesideIt) {
  const TestFolder folder;
  const std::string path = folder.File("suite.textproto");
  ASSERT_TRUE(WriteFileAtomically(path,
                                  "group { run_file: \"mine.textproto\" } "
                                  "group { run_file: \"/a/mine.textproto\" } "
                                  "group { run_file: \"results_image\" }")
                  .ok());
  const SuiteFile suite = *LoadSuite(path);
  EXPECT_EQ(suite.group(0).run_file(), folder.File("mine.textproto"));
  EXPECT_EQ(suite.group(1).run_file(), "/a/mine.textproto");
  EXPECT_EQ(suite.group(2).run_file(), "results_image");
}

// The names of all would fill a screen.
TEST(LoadSuite, AnUnknownOneIsAnsweredWithTheNearest) {
  const auto refusal = [](const std::string& name) {
    return std::string(LoadSuite(name).status().message());
  };
  EXPECT_THAT(refusal("listops_smok"),
              HasSubstr("unknown suite \"listops_smok\"; did you mean \"listops_smoke\"? `lra list "
                        "suites` lists all "));
  EXPECT_THAT(refusal("none"), HasSubstr("unknown suite \"none\"; `lra list suites` lists all "));
  EXPECT_THAT(refusal("none"), Not(HasSubstr("listops_smoke")));
}

}  // namespace
}  // namespace lra
