#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lra/folder_test_util.h"
#include "tasks/task_check.h"

namespace lra {
namespace {

class ImageTasksTest : public testing::TestWithParam<std::string> {};

TEST_P(ImageTasksTest, KeepsEveryPromise) {
  const TestFolder folder;
  const auto lines = CheckTask({.task = GetParam(), .scratch = folder.File("check")});
  ASSERT_TRUE(lines.ok()) << lines.status();
  for (const TaskCheckLine& line : *lines)
    EXPECT_TRUE(line.passed) << line.name << ": " << line.detail;
}

INSTANTIATE_TEST_SUITE_P(Tasks, ImageTasksTest, testing::Values("image", "cifar_pixels"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lra
