// docs/format.md is enough to write a data set: tests/write_dataset.py does so with NumPy and the
// standard library alone, and verification accepts every byte of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "datasets/dataset.h"
#include "datasets/split_view.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"
#include "tasks/inventory.h"
#include "tasks/verify.h"

namespace lra {
namespace {

// The path of a Python with NumPy: $LRA_PYTHON, the first python3 on the path, or the system's;
// empty if none has it.
std::string PythonWithNumpy() {
  const char* named = std::getenv("LRA_PYTHON");
  for (const std::string python :
       {named == nullptr ? "python3" : named, "python3", "/usr/bin/python3"}) {
    if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) == 0) return python;
  }
  return "";
}

TEST(NumpyDatasetTest, IsAccepted) {
  const std::string python = PythonWithNumpy();
  if (python.empty()) GTEST_SKIP() << "no Python with numpy (LRA_PYTHON may name one)";
  const TestFolder folder;
  const std::string path = folder.File("numpy");
  ASSERT_EQ(
      std::system(absl::StrCat(python, " " LRA_TESTS_DIR "/write_dataset.py '", path, "'").c_str()),
      0);
  const auto report = VerifyDataset(path, {.quiet = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, testing::IsEmpty());
  EXPECT_THAT(report->notes, testing::IsEmpty());
  EXPECT_EQ(report->labels_checked, 6);
  EXPECT_EQ((*ShowExamples(path, "train", 1))[0].source, "[MAX 2 [SM 3 4 ] 7 ]");
  const auto data = Dataset::Open(path, {.splits = {"train", "validation"}});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(SplitView::Create(*data, "train", DataView())->size(), 4);

  // The test split is the page's worked example.
  const absl::StatusOr<std::string> page = ReadFile(LRA_TESTS_DIR "/../docs/format.md");
  ASSERT_TRUE(page.ok()) << page.status();
  const ManifestSplit& test = report->manifest.splits(2);
  EXPECT_THAT(*page, testing::HasSubstr(test.content_fingerprint()));
  for (const ManifestFile& file : test.shards(0).files()) {
    EXPECT_THAT(*page, testing::HasSubstr(absl::StrCat("name: \"", file.name(),
                                                       "\" size_bytes: ", file.size_bytes(),
                                                       " sha256: \"", file.sha256(), "\"")));
  }
}

}  // namespace
}  // namespace lra
