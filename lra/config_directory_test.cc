#include "lra/config_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "lra/config.h"
#include "lra/config_folder_test_util.h"
#include "lra/files.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::EndsWith;
using ::testing::Optional;

TEST(ConfigDirectoryTest, AProgramsConfigsLieInItsPrefix) {
  const TestFolder folder;
  const std::string configs = folder.File("share/lra/configs");
  ASSERT_EQ(MakeDirectories(configs), absl::OkStatus());
  EXPECT_THAT(ConfigsInstalledWith(folder.File("bin/lra")), Optional(configs));
  EXPECT_THAT(ConfigsInstalledWith(folder.File("libexec/lra")), Optional(configs));
  EXPECT_EQ(ConfigsInstalledWith(folder.File("lra")), std::nullopt);
  EXPECT_EQ(ConfigsInstalledWith(folder.File("lib/lra/python/lra/_lra.so")), std::nullopt);
  EXPECT_EQ(ConfigsInstalledWith(""), std::nullopt);
}

TEST(ConfigDirectoryTest, AModulesConfigsAreThoseOfItsWheel) {
  const TestFolder folder;
  const std::string configs = folder.File("lra/program/share/lra/configs");
  ASSERT_EQ(MakeDirectories(configs), absl::OkStatus());
  ASSERT_EQ(MakeDirectories(folder.File("share/lra/configs")), absl::OkStatus());
  EXPECT_THAT(ConfigsInstalledWith(folder.File("lra/_lra.so")), Optional(configs));
}

TEST(ConfigDirectoryTest, AFileIsNoFolderOfConfigs) {
  const TestFolder folder;
  ASSERT_EQ(MakeDirectories(folder.File("share/lra")), absl::OkStatus());
  ASSERT_EQ(WriteFileAtomically(folder.File("share/lra/configs"), ""), absl::OkStatus());
  EXPECT_EQ(ConfigsInstalledWith(folder.File("bin/lra")), std::nullopt);
}

using ConfigDirectoryVariableTest = ConfigFolderTest;

TEST_F(ConfigDirectoryVariableTest, WithoutItTheSourceTreesConfigsAreUsed) {
  EXPECT_EQ(ConfigDirectory(), folder_.path());
  unsetenv("LRA_CONFIGS");
  EXPECT_TRUE(FileExists(JoinPath(ConfigDirectory(), "protocols/fair.textproto")))
      << ConfigDirectory();
}

TEST(ConfigDirectoryTest, ThisCodeIsInTheTest) {
  EXPECT_THAT(ThisBinary(), EndsWith("/lra_core_test"));
}

}  // namespace
}  // namespace lra
