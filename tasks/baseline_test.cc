#include "tasks/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "datasets/data_test_util.h"
#include "lra/config.h"
#include "lra/folder_test_util.h"
#include "lra/random.h"

namespace lra {
namespace {

using testing::FloatNear;

class BaselineTest : public testing::Test {
 protected:
  BaselineTest()
      : task_(*TaskRegistry::Get().Create("task", "listops", LoadTaskFile("listops")->options())) {
    // Training roots: MAX (12) with labels 9, 9, 8, and MIN (11) with label 0. Validation roots:
    // MAX, MIN, SM (14, not in training), and a digit.
    WriteTestData(folder_.File("d"), task_->Spec(),
                  {{"train",
                    {{{12, 10, 2, 15}, {}, 9},
                     {{12, 10, 3, 15}, {}, 9},
                     {{12, 9, 3, 15}, {}, 8},
                     {{11, 1, 5, 15}, {}, 0}}},
                   {"validation",
                    {{{12, 2, 2, 15}, {}, 1},
                     {{11, 2, 2, 15}, {}, 1},
                     {{14, 2, 2, 15}, {}, 2},
                     {{7}, {}, 6}}}});
  }
  const TestFolder folder_;
  const std::unique_ptr<Task> task_;
};

TEST_F(BaselineTest, CountsOnTrainAndPredictsTheSplit) {
  const auto data = Dataset::Open(folder_.File("d"), {});
  ASSERT_TRUE(data.ok()) << data.status();
  const SplitView train = *SplitView::Create(*data, "train", DataView());
  const SplitView validation = *SplitView::Create(*data, "validation", DataView());
  const auto baselines = RunBaselines(*task_, train, validation, {&validation}, {.quiet = true});
  ASSERT_TRUE(baselines.ok()) << baselines.status();
  ASSERT_EQ(baselines->size(), 2u);
  const BaselinePrediction& majority = (*baselines)[0];
  const BaselinePrediction& shortcut = (*baselines)[1];
  EXPECT_EQ(majority.name, "majority");
  EXPECT_EQ(shortcut.name, "root_operator");
  ASSERT_EQ(majority.logits[0].size(), 40u);
  ASSERT_EQ(shortcut.logits[0].size(), 40u);
  const auto probability = [](const BaselinePrediction& b, int example, int label) {
    return std::exp(b.logits[0][example * 10 + label]);
  };
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(probability(majority, i, 9), FloatNear(3.0 / 14, 1e-6));
    EXPECT_THAT(probability(majority, i, 0), FloatNear(2.0 / 14, 1e-6));
    EXPECT_THAT(probability(majority, i, 4), FloatNear(1.0 / 14, 1e-6));
  }
  EXPECT_THAT(probability(shortcut, 0, 9), FloatNear(3.0 / 13, 1e-6));
  EXPECT_THAT(probability(shortcut, 0, 8), FloatNear(2.0 / 13, 1e-6));
  EXPECT_THAT(probability(shortcut, 0, 0), FloatNear(1.0 / 13, 1e-6));
  EXPECT_THAT(probability(shortcut, 1, 0), FloatNear(2.0 / 11, 1e-6));
  EXPECT_THAT(probability(shortcut, 2, 3), FloatNear(0.1, 1e-6));
  EXPECT_THAT(probability(shortcut, 3, 6), FloatNear(0.1, 1e-6));
}

// Texts in which one word decides, and pictures in which one corner decides, so that a linear model
// can learn them.
TaskSpec ContentSpec(TaskSpec::Content content) {
  TaskSpec spec;
  spec.set_name("content");
  spec.set_version(1);
  spec.set_content(content);
  spec.set_vocabulary_size(256);
  spec.set_max_length_tokens(content == TaskSpec::TEXT ? 64 : 16);
  if (content == TaskSpec::GREY_IMAGE) spec.set_image_side_pixels(4);
  spec.set_classes(2);
  return spec;
}

std::vector<EncodedExample> PlantedExamples(TaskSpec::Content content, uint32_t seed) {
  RandomStream random(seed, RandomDomain::kTest, {0, 0, 0});
  std::vector<EncodedExample> examples(300);
  for (EncodedExample& example : examples) {
    example.label = static_cast<int32_t>(random.Below(2));
    if (content == TaskSpec::TEXT) {
      const std::string word = example.label == 1 ? "good" : "evil";
      for (int i = 0; i < 20; ++i) example.tokens.push_back('m' + random.Below(10));
      example.tokens.insert(example.tokens.begin() + random.Below(20), word.begin(), word.end());
    } else {
      for (int i = 0; i < 16; ++i) example.tokens.push_back(random.Below(256));
      example.tokens[5] = example.label == 1 ? 250 : 5;
    }
  }
  return examples;
}

TEST_F(BaselineTest, LinearModelsFindWhatIsPlanted) {
  for (TaskSpec::Content content : {TaskSpec::TEXT, TaskSpec::GREY_IMAGE}) {
    const std::string path = folder_.File(TaskSpec::Content_Name(content));
    WriteTestData(path, ContentSpec(content),
                  {{"train", PlantedExamples(content, 1)},
                   {"validation", PlantedExamples(content, 2)},
                   {"test", PlantedExamples(content, 3)}});
    const auto data = Dataset::Open(path, {});
    ASSERT_TRUE(data.ok()) << data.status();
    const SplitView train = *SplitView::Create(*data, "train", DataView());
    const SplitView validation = *SplitView::Create(*data, "validation", DataView());
    const SplitView test = *SplitView::Create(*data, "test", DataView());
    std::vector<std::vector<float>> logits;
    for (int threads : {1, 2}) {
      const auto baselines =
          RunBaselines(*task_, train, validation, {&test}, {.threads = threads, .quiet = true});
      ASSERT_TRUE(baselines.ok()) << baselines.status();
      const BaselinePrediction& linear = baselines->back();
      EXPECT_EQ(linear.name, content == TaskSpec::TEXT ? "ngram_linear" : "pixel_linear");
      logits.push_back(linear.logits[0]);
    }
    EXPECT_EQ(logits[0], logits[1]) << "threads change the result";
    int correct = 0;
    for (int64_t i = 0; i < test.size(); ++i) {
      correct += (logits[0][2 * i + 1] > logits[0][2 * i]) == (test.label(i) == 1) ? 1 : 0;
    }
    EXPECT_GE(correct, 290) << TaskSpec::Content_Name(content);
  }
}

TEST_F(BaselineTest, EverySplitOfATasksData) {
  WriteTestData(folder_.File("whole"), task_->Spec(),
                {{"train", {{{12, 10, 2, 15}, {}, 9}, {{11, 1, 5, 15}, {}, 0}}},
                 {"validation", {{{12, 2, 2, 15}, {}, 1}}},
                 {"test", {{{7}, {}, 6}, {{8}, {}, 7}}}});
  BaselineRequest request = {.task = "listops", .data_dir = folder_.File("whole")};
  request.options.quiet = true;
  const auto results = PredictBaselines(request);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->splits, (std::vector<std::string>{"validation", "test"}));
  EXPECT_EQ(results->labels, (std::vector<std::vector<int32_t>>{{1}, {6, 7}}));
  EXPECT_EQ(results->manifest.spec().name(), "listops");
  ASSERT_EQ(results->predictions.size(), 2u);
  EXPECT_EQ(results->predictions[1].name, "root_operator");
  EXPECT_EQ(results->predictions[1].logits[1].size(), 20u);  // [2 examples, 10 classes]
  request.split = "train";
  EXPECT_EQ(PredictBaselines(request)->labels[2], (std::vector<int32_t>{9, 0}));
  request.view.sets = {"max_length_tokens=3"};
  EXPECT_EQ(PredictBaselines(request)->spec.max_length_tokens(), 3);
  request.task = "text";
  EXPECT_THAT(std::string(PredictBaselines(request).status().message()),
              testing::HasSubstr("holds task \"listops\", not \"text\""));
}

TEST_F(BaselineTest, NamesOfADataSetsRows) {
  Manifest manifest;
  *manifest.mutable_spec() = task_->Spec();
  EXPECT_EQ(*BaselineNamesOf(manifest), (std::vector<std::string>{"majority", "root_operator"}));
  manifest.mutable_spec()->set_name("somebody_elses");
  EXPECT_TRUE(BaselineNamesOf(manifest)->empty());
}

}  // namespace
}  // namespace lra
