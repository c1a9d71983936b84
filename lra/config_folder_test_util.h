// Tests with configuration files of their own, in the place of configs/.
#ifndef LRA_CONFIG_FOLDER_TEST_UTIL_H_
#define LRA_CONFIG_FOLDER_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {

// For as long as a test runs, LRA_CONFIGS names the folder.
class ConfigFolderTest : public testing::Test {
 protected:
  ConfigFolderTest() {
    if (const char* before = std::getenv("LRA_CONFIGS")) before_ = before;
    setenv("LRA_CONFIGS", folder_.path().c_str(), 1);
    for (const char* kind : {"protocols", "presets", "attentions", "blocks", "tasks"})
      EXPECT_EQ(MakeDirectories(folder_.File(kind)), absl::OkStatus());
  }
  ~ConfigFolderTest() override {
    before_.empty() ? unsetenv("LRA_CONFIGS") : setenv("LRA_CONFIGS", before_.c_str(), 1);
  }

  // Write("presets/tiny", text) makes presets/tiny.textproto.
  void Write(absl::string_view name, absl::string_view text) const {
    ASSERT_EQ(WriteFileAtomically(folder_.File(absl::StrCat(name, ".textproto")), text),
              absl::OkStatus());
  }

  const TestFolder folder_;

 private:
  std::string before_;
};

}  // namespace lra

#endif  // LRA_CONFIG_FOLDER_TEST_UTIL_H_
