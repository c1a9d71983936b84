// The tutorial's task of tokens keeps every promise, and is scored by what needs no label.
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

using testing::ElementsAre;

class ReverseTest : public testing::Test {
 protected:
  ReverseTest() {
    namespace fs = std::filesystem;
    const std::string configs = folder_.File("configs");
    fs::copy(LRA_SOURCE_DIR "/configs", configs, fs::copy_options::recursive);
    fs::copy_file(LRA_SOURCE_DIR "/examples/reverse/reverse.textproto",
                  configs + "/tasks/reverse.textproto");
    setenv("LRA_CONFIGS", configs.c_str(), 1);
  }
  std::string Prepared() {
    PrepareOptions options;
    options.task = "reverse";
    options.out = folder_.File("data");
    options.set = {"train_examples=50", "validation_examples=5", "test_examples=5"};
    options.quiet = true;
    EXPECT_TRUE(Prepare(options).ok());
    return options.out;
  }
  const TestFolder folder_;
};

TEST_F(ReverseTest, KeepsEveryPromise) {
  const auto lines = CheckTask({.task = "reverse", .scratch = folder_.File("check")});
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_GE(lines->size(), 6u);
  for (const TaskCheckLine& line : *lines) {
    EXPECT_TRUE(line.passed) << line.name << ": " << line.detail;
  }
}

TEST_F(ReverseTest, IsItsOwnMirror) {
  const std::string data = Prepared();
  const auto report = VerifyDataset(data, {.quiet = true});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->labels_checked, 60);
  const auto shown = ShowExamples(data, "train", 3);
  ASSERT_TRUE(shown.ok());
  for (const ShownExample& example : *shown) {
    const std::string& text = example.source;
    EXPECT_EQ(text, std::string(text.rbegin(), text.rend()));
    EXPECT_EQ(text[text.size() / 2], '|');
  }
}

TEST_F(ReverseTest, OnlyWhatIsBehindThePromptIsScored) {
  const std::string directory = Prepared();
  const auto view = LoadView("reverse", "fair", "smoke", {});
  ASSERT_TRUE(view.ok()) << view.status();
  const auto data = Dataset::Open(directory, {.view = &*view});
  ASSERT_TRUE(data.ok()) << data.status();
  const SplitView train = *SplitView::Create(*data, "train", *view);
  const SplitView test = *SplitView::Create(*data, "test", *view);
  const auto task = TaskOf(data->manifest());
  ASSERT_TRUE(task.ok()) << task.status();
  const auto baselines =
      RunBaselines(AllBaselines(**task, *view), train, test, {&test}, {.quiet = true});
  ASSERT_TRUE(baselines.ok()) << baselines.status();
  std::vector<std::string> names;
  for (const BaselinePrediction& one : *baselines) {
    names.push_back(one.facts.name);
    for (int64_t i = 0; i < test.size(); ++i)
      EXPECT_EQ(one.token_scores[0].targets[i], (test.length_tokens(i) + 1) / 2);
  }
  EXPECT_THAT(names, ElementsAre("uniform", "unigram", "bigram", "gzip"));
}

}  // namespace
}  // namespace lra
