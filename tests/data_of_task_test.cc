// Commands must refuse data of another task.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "datasets/manifest.h"
#include "lra/folder_test_util.h"
#include "tasks/task.h"
#include "tests/random_task_data.h"

namespace lra {
namespace {

using testing::HasSubstr;

TEST(DataOfTask, AnotherTaskOrVersionIsRefusedByName) {
  const TestFolder home;
  const std::string folder = home.File("data");
  WriteRandomTask("text", folder);
  EXPECT_TRUE(CheckDataOfTask(folder, "text").ok());
  // a missing folder is reported by whoever opens it
  EXPECT_TRUE(CheckDataOfTask(folder + "/nothing", "text").ok());
  const absl::Status other = CheckDataOfTask(folder, "listops");
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(other.message()), HasSubstr("holds task \"text\", not \"listops\""));
  auto manifest = ReadManifest(folder);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  manifest->mutable_spec()->set_version(manifest->spec().version() + 1);
  ASSERT_TRUE(WriteManifest(folder, *manifest).ok());
  EXPECT_THAT(std::string(CheckDataOfTask(folder, "text").message()),
              HasSubstr("spec.version of task \"text\" is 2, this program has 1"));
}

}  // namespace
}  // namespace lra
