// The tutorial's task keeps every promise, and its data is what its description says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "datasets/split_view.h"
#include "lra/config.h"
#include "lra/folder_test_util.h"
#include "tasks/baseline.h"
#include "tasks/inventory.h"
#include "tasks/prepare.h"
#include "tasks/task_check.h"
#include "tasks/verify.h"

namespace lra {
namespace {

// A copy of configs/ with the tutorial's file among the tasks, as a reader of the tutorial has it.
std::string ConfigsWithParity(const std::string& folder) {
  namespace fs = std::filesystem;
  fs::copy(LRA_SOURCE_DIR "/configs", folder, fs::copy_options::recursive);
  fs::copy_file(LRA_SOURCE_DIR "/examples/parity/parity.textproto",
                folder + "/tasks/parity.textproto");
  return folder;
}

TEST(ParityTest, KeepsEveryPromise) {
  const TestFolder folder;
  setenv("LRA_CONFIGS", ConfigsWithParity(folder.File("configs")).c_str(), 1);
  const auto lines = CheckTask({.task = "parity", .scratch = folder.File("check")});
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_GE(lines->size(), 6u);
  for (const TaskCheckLine& line : *lines) {
    EXPECT_TRUE(line.passed) << line.name << ": " << line.detail;
  }
}

TEST(ParityTest, IsShownAndVerified) {
  const TestFolder folder;
  setenv("LRA_CONFIGS", ConfigsWithParity(folder.File("configs")).c_str(), 1);
  PrepareOptions options;
  options.task = "parity";
  options.out = folder.File("data");
  options.set = {"train_examples=50", "validation_examples=5", "test_examples=5",
                 "max_length_tokens=60"};
  options.quiet = true;
  ASSERT_TRUE(Prepare(options).ok());
  const auto report = VerifyDataset(options.out, {.quiet = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->ok());
  EXPECT_EQ(report->labels_checked, 60);
  const auto shown = ShowExamples(options.out, "train", 3);
  ASSERT_TRUE(shown.ok());
  for (const ShownExample& example : *shown) {
    EXPECT_EQ(std::count(example.source.begin(), example.source.end(), '1') % 2, example.label);
    EXPECT_EQ(static_cast<int64_t>(example.source.size()), 2 * example.length_tokens - 1);
  }
}

TEST(ParityTest, HasAViewAndBaselines) {
  const TestFolder folder;
  setenv("LRA_CONFIGS", ConfigsWithParity(folder.File("configs")).c_str(), 1);
  PrepareOptions options;
  options.task = "parity";
  options.out = folder.File("data");
  options.set = {"train_examples=50", "validation_examples=5", "test_examples=5"};
  options.quiet = true;
  ASSERT_TRUE(Prepare(options).ok());
  const auto view = LoadView("parity", "fair", "smoke", {});
  ASSERT_TRUE(view.ok()) << view.status();
  const auto data = Dataset::Open(options.out, {.view = &*view});
  ASSERT_TRUE(data.ok()) << data.status();
  const auto train = SplitView::Create(*data, "train", *view);
  ASSERT_TRUE(train.ok()) << train.status();
  const auto task = TaskOf(data->manifest());
  ASSERT_TRUE(task.ok()) << task.status();
  const auto baselines =
      RunBaselines(AllBaselines(**task, *view), *train, *train, {&*train}, {.quiet = true});
  ASSERT_TRUE(baselines.ok()) << baselines.status();
  EXPECT_EQ(baselines->front().facts.name, "majority");
}

// If there are fewer inputs than examples, the result is an error and not an endless loop.
TEST(ParityTest, TooFewInputsAreAnError) {
  const TestFolder folder;
  setenv("LRA_CONFIGS", ConfigsWithParity(folder.File("configs")).c_str(), 1);
  PrepareOptions options;
  options.task = "parity";
  options.out = folder.File("data");
  options.set = {"min_length_tokens=1", "max_length_tokens=3", "train_examples=50"};
  options.quiet = true;
  const absl::Status status = Prepare(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("example 14 of split train"));
}

}  // namespace
}  // namespace lra
