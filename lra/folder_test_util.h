// For tests only.
#ifndef LRA_TEST_FOLDER_H_
#define LRA_TEST_FOLDER_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/files.h"

namespace lra {

// A new empty folder that the running test, or suite while it is set up, has for itself; removed
// with the object.
class TestFolder {
 public:
  TestFolder() {
    const ::testing::UnitTest& unit = *::testing::UnitTest::GetInstance();
    const ::testing::TestInfo* const test = unit.current_test_info();
    std::string name = absl::StrCat(unit.current_test_suite()->name(), "-",
                                    test == nullptr ? "suite" : test->name());
    // In the names of tests with parameters.
    std::replace(name.begin(), name.end(), '/', '-');
    path_ =
        JoinPath(::testing::TempDir(), absl::StrCat("lra-", getpid(), "-", name, "-", count_++));
    LRA_CHECK(RemoveAll(path_).ok() && MakeDirectories(path_).ok()) << path_;
  }
  ~TestFolder() { RemoveAll(path_).IgnoreError(); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  // Path of a file inside the folder.
  std::string File(absl::string_view name) const { return JoinPath(path_, name); }

 private:
  static inline int count_ = 0;
  std::string path_;
};

// While it lives, relative paths begin in this folder.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~WorkingFolder() { std::filesystem::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  const std::filesystem::path before_;
};

}  // namespace lra

#endif  // LRA_TEST_FOLDER_H_
