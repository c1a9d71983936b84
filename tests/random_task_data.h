// Makes small random data in the form of any task.
#ifndef LRA_TESTS_RANDOM_TASK_DATA_H_
#define LRA_TESTS_RANDOM_TASK_DATA_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "datasets/data_test_util.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "tasks/task.h"

namespace lra {

constexpr int kRandomTaskBatch = 4;

// Half of each image is black. Texts are byte literals, like those of pairs.
inline std::vector<uint16_t> RandomTokens(const TaskSpec& spec, RandomStream* random) {
  std::vector<uint16_t> tokens;
  if (spec.image_side_pixels() > 0) {
    tokens.resize(spec.max_length_tokens());
    for (uint16_t& pixel : tokens) {
      const auto value = static_cast<int>(random->Between(-255, 255));
      pixel = static_cast<uint16_t>(std::max(0, value));
    }
    return tokens;
  }
  const bool is_text = spec.content() == TaskSpec::TEXT;
  if (is_text) tokens = {'b', '\''};
  for (int64_t left = random->Between(1, 60); left > 0; --left) {
    const int highest = is_text ? 'z' : spec.vocabulary_size() - 1;
    tokens.push_back(static_cast<uint16_t>(random->Between(is_text ? 'a' : 1, highest)));
  }
  if (is_text) tokens.push_back('\'');
  return tokens;
}

inline std::vector<EncodedExample> RandomTaskExamples(const TaskSpec& spec, int64_t count,
                                                      uint32_t seed) {
  RandomStream random(seed, RandomDomain::kTest, {1, 0, 0});
  std::vector<EncodedExample> examples(count);
  for (int64_t i = 0; i < count; ++i) {
    examples[i].tokens = RandomTokens(spec, &random);
    if (spec.is_pair()) examples[i].tokens_b = RandomTokens(spec, &random);
    examples[i].label = static_cast<int32_t>(i % spec.classes());
  }
  return examples;
}

// Sixty examples where a task has one stored split (six of them are the test split), else sixty and
// ten.
inline void WriteRandomTask(const std::string& task_name, const std::string& directory) {
  const auto task =
      TaskRegistry::Get().Create("task", task_name, LoadTaskFile(task_name)->options());
  ASSERT_TRUE(task.ok()) << task.status();
  std::vector<TestSplit> splits;
  for (const SplitSize& split : (*task)->Splits()) {
    const bool is_large = split.name == "train" || split.name == "all";
    splits.push_back({split.name, RandomTaskExamples((*task)->Spec(), is_large ? 60 : 10,
                                                     static_cast<uint32_t>(splits.size()))});
  }
  WriteTestData(directory, (*task)->Spec(), splits);
}

// A small model that trains for three steps; `sets` are applied last.
inline absl::StatusOr<ResolvedConfig> ResolveRandomTask(
    const std::string& task, const std::string& protocol, const std::vector<std::string>& sets,
    const std::string& attention = "transformer") {
  ConfigBuilder builder(task);
  LRA_RETURN_IF_ERROR(builder.AddProtocol(protocol));
  LRA_RETURN_IF_ERROR(builder.AddPreset("smoke"));
  LRA_RETURN_IF_ERROR(builder.AddAttention(attention));
  std::vector<std::string> all = {"train.steps=3",
                                  absl::StrCat("train.batch_examples=", kRandomTaskBatch),
                                  "train.eval_every_steps=3",
                                  "train.log_every_steps=3",
                                  "schedule.kind=CONSTANT",
                                  "schedule.learning_rate=1e-3",
                                  "evaluation.selection=LAST"};
  // Images are not cut.
  if (!builder.config().view().has_pixels()) all.push_back("view.max_length_tokens=48");
  all.insert(all.end(), sets.begin(), sets.end());
  for (const std::string& set : all) LRA_RETURN_IF_ERROR(builder.Set(set));
  return builder.Build();
}

}  // namespace lra

#endif  // LRA_TESTS_RANDOM_TASK_DATA_H_
