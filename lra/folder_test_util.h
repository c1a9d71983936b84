// For tests only.
#ifndef LRA_TEST_FOLDER_H_
#define LRA_TEST_FOLDER_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/files.h"

namespace lra {

// A new empty folder that the running test has for itself; removed with the object.
class TestFolder {
 public:
  TestFolder() {
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    path_ =
        JoinPath(::testing::TempDir(), absl::StrCat("lra-", getpid(), "-", test.test_suite_name(),
                                                    "-", test.name(), "-", count_++));
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

}  // namespace lra

#endif  // LRA_TEST_FOLDER_H_
