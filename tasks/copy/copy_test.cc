#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/loader.h"
#include "datasets/split_view.h"
#include "lra/config.h"
#include "lra/folder_test_util.h"
#include "tasks/baseline.h"
#include "tasks/prepare.h"
#include "tasks/task.h"
#include "tasks/task_check.h"
#include "tasks/task_facts.h"

namespace lra {
namespace {

using ::testing::HasSubstr;

TEST(CopyTest, KeepsEveryPromise) {
  const TestFolder folder;
  const auto lines = CheckTask({.task = "copy", .scratch = folder.File("check")});
  ASSERT_TRUE(lines.ok()) << lines.status();
  for (const TaskCheckLine& line : *lines)
    EXPECT_TRUE(line.passed) << line.name << ": " << line.detail;
}

// The separator and the second copy are scored, the first is given.
TEST(CopyTest, TargetsAreWhatStandsBehindTheFirstCopy) {
  const TestFolder folder;
  PrepareOptions options;
  options.task = "copy";
  options.out = folder.File("data");
  options.set = {"min_symbols=3", "max_symbols=5", "train_examples=30", "validation_examples=1",
                 "test_examples=1"};
  options.quiet = true;
  ASSERT_TRUE(Prepare(options).ok());
  const DataView view = LoadView("copy", "fair", "smoke", {}).value();
  const Dataset data = *Dataset::Open(folder.File("data"), {.view = &view});
  const SplitView split = *SplitView::Create(data, "train", view);
  EXPECT_TRUE(split.spec().guesses_tokens());
  EXPECT_EQ(split.spec().classes(), 12);
  EXPECT_EQ(split.spec().metric_name(), "nats");
  const HostBatch batch = MakeBatch(split, {4, 7, 29});
  auto target = batch.labels.begin();
  for (int64_t b = 0; b < batch.batch; ++b) {
    const int32_t symbols = batch.prompts[b];
    ASSERT_GE(symbols, 3);
    ASSERT_LE(symbols, 5);
    ASSERT_EQ(batch.lengths[b], 2 * symbols + 1);
    ASSERT_EQ(TargetsOf(batch, b), symbols + 1);
    EXPECT_EQ(*target++, 11);
    for (int32_t i = 0; i < symbols; ++i) EXPECT_EQ(*target++, batch.tokens[b * batch.length + i]);
  }
  EXPECT_EQ(target, batch.labels.end());
}

struct MeanScore {
  double nats = 0, right = 0;  // of a scored token
};

// What this baseline has on the test split.
MeanScore ScoreOf(const std::string& name, const BaselineResults& results) {
  MeanScore mean;
  for (const BaselinePrediction& one : results.predictions) {
    if (one.facts.name != name) continue;
    const TokenScores& scores = one.token_scores.at(1);
    const double targets = std::accumulate(scores.targets.begin(), scores.targets.end(), 0.0);
    mean.nats = std::accumulate(scores.nats.begin(), scores.nats.end(), 0.0) / targets;
    mean.right = std::accumulate(scores.correct.begin(), scores.correct.end(), 0.0) / targets;
  }
  return mean;
}

// There are 32 to 62 symbols, 47 in the mean. So one of 48 scored tokens is the separator, which is
// sure where none was seen; a symbol costs ln 10, and one of ten is guessed by chance.
TEST(CopyTest, ABaselineKnowsTheSeparatorAndNoSymbol) {
  const TestFolder folder;
  PrepareOptions options;
  options.task = "copy";
  options.out = folder.File("data");
  options.set = {"train_examples=4000", "validation_examples=1", "test_examples=1000"};
  options.quiet = true;
  ASSERT_TRUE(Prepare(options).ok());
  BaselineRequest request;
  request.task = "copy";
  request.data_dir = options.out;
  request.options.quiet = true;
  const auto results = PredictBaselines(request);
  ASSERT_TRUE(results.ok()) << results.status();
  const MeanScore separator = ScoreOf("separator", *results);
  EXPECT_NEAR(separator.nats, 47.0 / 48 * std::log(10.0), 0.002);  // 2.2546
  EXPECT_NEAR(separator.right, (1 + 47.0 / 10) / 48, 0.006);       // 0.1188
  EXPECT_GT(ScoreOf("bigram", *results).nats, 2.33);
  const BaselineFacts& facts = results->predictions.back().facts;
  EXPECT_EQ(facts.name, "separator");
  EXPECT_TRUE(facts.is_required);
}

TEST(CopyTest, HiddenTokensHaveNoSeparatorInFront) {
  DataView view;
  view.set_target(DataView::MASKED);
  const auto task = *MakeTask("copy");
  for (const auto& method : AllBaselines(*task, view)) EXPECT_NE(method->facts().name, "separator");
}

TEST(CopyTest, TheOracleNamesWhatIsNoCopyAndAWrongPrompt) {
  const auto task = *MakeTask("copy");
  const std::vector<uint16_t> copy = {3, 1, 11, 3, 1}, other = {3, 1, 11, 3, 2};
  const std::vector<int16_t> prompt = {2}, wrong = {3};
  EXPECT_EQ(**task->OracleLabel({copy, {}, prompt}), 0);
  EXPECT_THAT(std::string(task->OracleLabel({other, {}, prompt}).status().message()),
              HasSubstr("3 1 | 3 2 is no copy"));
  EXPECT_THAT(std::string(task->OracleLabel({copy, {}, wrong}).status().message()),
              HasSubstr("prompt_tokens is 3, must be 2"));
}

}  // namespace
}  // namespace lra
