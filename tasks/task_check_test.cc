// What `lra check` holds a task's data to, on data that is made here; plug-ins' own tests check
// theirs.
#include "tasks/task_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "datasets/data_test_util.h"
#include "datasets/dataset.h"
#include "datasets/host_batch.h"
#include "lra/folder_test_util.h"

namespace lra {
namespace {

using ::testing::HasSubstr;

// Its raw form is how many tokens are given, and the tokens, a byte each.
class PromptedTask : public Task {
 public:
  explicit PromptedTask(bool reads_prompts) : reads_prompts_(reads_prompts) {}
  TaskSpec Spec() const override { return SmallSpec(); }
  std::vector<SplitSize> Splits() const override { return {{"train", 0}}; }
  std::string ToText(const StoredExample&) const override { return ""; }

  absl::StatusOr<RawExample> ToRaw(const EncodedExample& example) const override {
    RawExample raw;
    raw.bytes.assign(1, static_cast<char>(example.extra[0]));
    raw.bytes.append(example.tokens.begin(), example.tokens.end());
    raw.label = example.label;
    return raw;
  }

  absl::StatusOr<EncodedExample> Encode(const RawExample& raw) const override {
    EncodedExample example;
    example.tokens.assign(raw.bytes.begin() + 1, raw.bytes.end());
    example.label = raw.label;
    if (reads_prompts_) example.extra = {static_cast<int16_t>(raw.bytes[0])};
    return example;
  }

 private:
  const bool reads_prompts_;
};

// All tokens of the first example are given, none of the second, half of the others.
std::vector<EncodedExample> PromptedExamples() {
  std::vector<EncodedExample> examples = RandomExamples(SmallSpec(), 90, 4);
  for (size_t i = 0; i < examples.size(); ++i) {
    const size_t tokens = examples[i].tokens.size();
    examples[i].extra = {static_cast<int16_t>(i == 0 ? tokens : i == 1 ? 0 : tokens / 2)};
  }
  return examples;
}

class TaskCheckTest : public testing::Test {
 protected:
  TaskCheckTest() {
    const std::vector<EncodedExample> examples = PromptedExamples();
    WriteTestData(folder_.File("data"), SmallSpec(),
                  {{"train", examples}, {"validation", examples}, {"test", examples}}, 1 << 20,
                  {PromptColumn()});
    data_ = *Dataset::Open(folder_.File("data"), {});
  }

  const TestFolder folder_;
  Dataset data_;
};

// PromptedTask is "small" in version 1, and cannot be generated.
TEST_F(TaskCheckTest, ASpecThatWasLeftFromAnotherTaskIsSeen) {
  const PromptedTask task(true);
  TaskFile file;
  file.set_name("small");
  file.set_version(1);
  file.set_is_imported(true);
  EXPECT_EQ(internal::CheckSpec(task, file), absl::OkStatus());
  const auto wrong = [&](const TaskFile& changed) {
    return std::string(internal::CheckSpec(task, changed).message());
  };
  TaskFile other = file;
  other.set_name("mine");
  EXPECT_EQ(wrong(other),
            "Spec() has the name \"small\", configs/tasks/mine.textproto is of \"mine\"; set "
            "spec.name to that");
  other = file;
  other.set_version(2);
  EXPECT_EQ(wrong(other), "Spec() has version 1, configs/tasks/small.textproto has version 2");
  other = file;
  other.set_is_imported(false);
  EXPECT_EQ(wrong(other),
            "configs/tasks/small.textproto: is_imported must be true, for the task is made from "
            "raw files");
}

TEST_F(TaskCheckTest, ARawFormKeepsHowManyTokensAreGiven) {
  EXPECT_EQ(internal::CheckRoundTrips(PromptedTask(true), data_), absl::OkStatus());
  EXPECT_THAT(std::string(internal::CheckRoundTrips(PromptedTask(false), data_).message()),
              HasSubstr("train 0 changes on its way through the raw form"));
}

// Also where nothing is left to guess.
TEST_F(TaskCheckTest, ViewsAskForWhatIsNotGiven) {
  EXPECT_EQ(internal::CheckViews(data_), absl::OkStatus());
}

TEST_F(TaskCheckTest, OtherTargetsThanTheNextTokensAreSeen) {
  const internal::Guessable example = {{5, 6, 7, 8}, 1};
  HostBatch right;
  right.tokens = {5, 6, 7, 8};
  right.labels = {6, 7, 8};
  right.prompts = {1};
  EXPECT_TRUE(internal::AsksForTheNext(right, example));
  HostBatch shifted = right;
  shifted.labels = {7, 8, 8};
  EXPECT_FALSE(internal::AsksForTheNext(shifted, example));
  HostBatch fewer = right;
  fewer.prompts = {2};
  EXPECT_FALSE(internal::AsksForTheNext(fewer, example));
  HostBatch changed = right;
  changed.tokens[3] = 9;
  EXPECT_FALSE(internal::AsksForTheNext(changed, example));
}

TEST_F(TaskCheckTest, OtherTargetsThanTheHiddenTokensAreSeen) {
  constexpr int32_t kMask = 10;
  const internal::Guessable example = {{5, 6, 7, 8}, 1};
  HostBatch right;
  right.tokens = {5, 6, kMask, 8};
  right.hidden = {0, 0, 1, 0};
  right.labels = {7};
  EXPECT_TRUE(internal::AsksForTheHidden(right, example, kMask));
  HostBatch given = right;
  given.tokens = {kMask, 6, 7, 8};
  given.hidden = {1, 0, 0, 0};
  given.labels = {5};
  EXPECT_FALSE(internal::AsksForTheHidden(given, example, kMask));
  HostBatch shown = right;
  shown.tokens[2] = 7;
  EXPECT_FALSE(internal::AsksForTheHidden(shown, example, kMask));
  HostBatch nothing = right;
  nothing.tokens = example.ids;
  nothing.hidden = {0, 0, 0, 0};
  nothing.labels.clear();
  EXPECT_FALSE(internal::AsksForTheHidden(nothing, example, kMask));
}

}  // namespace
}  // namespace lra
