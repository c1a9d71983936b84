#include "tasks/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "datasets/data_test_util.h"
#include "lra/config.h"
#include "lra/folder_test_util.h"
#include "tasks/prepare.h"
#include "tasks/task_facts.h"

namespace lra {
namespace {

using testing::ElementsAre;
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
  const auto baselines = RunBaselines(AllBaselines(*task_, DataView()), train, validation,
                                      {&validation}, {.quiet = true});
  ASSERT_TRUE(baselines.ok()) << baselines.status();
  ASSERT_EQ(baselines->size(), 7u);
  const BaselinePrediction& majority = (*baselines)[0];
  const BaselinePrediction& shortcut = (*baselines)[1];
  EXPECT_EQ(majority.facts.name, "majority");
  EXPECT_EQ(shortcut.facts.name, "root_operator");
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

// A test split of one class: no constant answer is above the majority class.
TEST_F(BaselineTest, TheMajorityIsThatOfAScoredSplitWhereTrainsIsPlainlyAnother) {
  const auto examples = [](int count, int label) {
    return std::vector<EncodedExample>(count, {{7}, {}, label});
  };
  std::vector<EncodedExample> train = examples(20, 3), even = examples(12, 5);
  for (const EncodedExample& example : examples(20, 5)) train.push_back(example);
  for (const EncodedExample& example : examples(9, 3)) even.push_back(example);
  WriteTestData(folder_.File("one"), task_->Spec(),
                {{"train", train}, {"validation", even}, {"test", examples(20, 5)}});
  BaselineRequest request;
  request.task = "listops";
  request.data_dir = folder_.File("one");
  request.options.quiet = true;
  const auto results = PredictBaselines(request);
  ASSERT_TRUE(results.ok()) << results.status();
  const BaselinePrediction& majority = results->predictions[0];
  ASSERT_EQ(majority.facts.name, "majority");
  // In validation, three more of the other class are chance.
  EXPECT_THAT(std::exp(majority.logits[0][3]), FloatNear(21.0 / 50, 1e-6));
  EXPECT_THAT(std::exp(majority.logits[1][3]), FloatNear(1.0 / 30, 1e-6));
  for (int i = 0; i < 20; ++i)
    EXPECT_THAT(std::exp(majority.logits[1][i * 10 + 5]), FloatNear(21.0 / 30, 1e-6));
}

TEST_F(BaselineTest, EverySplitOfATasksData) {
  WriteTestData(folder_.File("whole"), task_->Spec(),
                {{"train", {{{12, 10, 2, 15}, {}, 9}, {{11, 1, 5, 15}, {}, 0}}},
                 {"validation", {{{12, 2, 2, 15}, {}, 1}}},
                 {"test", {{{7}, {}, 6}, {{8}, {}, 7}}}});
  BaselineRequest request;
  request.task = "listops";
  request.data_dir = folder_.File("whole");
  request.options.quiet = true;
  const auto results = PredictBaselines(request);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->splits, (std::vector<std::string>{"validation", "test"}));
  EXPECT_EQ(results->labels, (std::vector<std::vector<int32_t>>{{1}, {6, 7}}));
  EXPECT_EQ(results->manifest.spec().name(), "listops");
  ASSERT_EQ(results->predictions.size(), 7u);
  EXPECT_EQ(results->predictions[1].facts.name, "root_operator");
  EXPECT_EQ(results->predictions[1].logits[1].size(), 20u);  // [2 examples, 10 classes]
  request.split = "train";
  EXPECT_EQ(PredictBaselines(request)->labels[2], (std::vector<int32_t>{9, 0}));
  request.view.sets = {"max_length_tokens=3"};
  EXPECT_EQ(PredictBaselines(request)->spec.max_length_tokens(), 3);
  request.exact_view = DataView();
  request.exact_view->set_max_length_tokens(2);
  EXPECT_EQ(PredictBaselines(request)->spec.max_length_tokens(), 2);
  request.check_data = [](const Manifest&, const DataView& view) {
    return absl::InvalidArgumentError(absl::StrCat("length ", view.max_length_tokens()));
  };
  EXPECT_THAT(std::string(PredictBaselines(request).status().message()),
              testing::HasSubstr("whole: length 2"));
  request.check_data = nullptr;
  request.task = "text";
  EXPECT_THAT(std::string(PredictBaselines(request).status().message()),
              testing::HasSubstr("holds task \"listops\", not \"text\""));
}

// What takes minutes runs on request only, and is named otherwise.
TEST_F(BaselineTest, SlowOnesRunOnRequest) {
  const auto retrieval = MakeTask("retrieval");
  ASSERT_TRUE(retrieval.ok()) << retrieval.status();
  const EncodedExample cites{{'a', 'b'}, {'a', 'b'}, 1}, does_not{{'a', 'b'}, {'c', 'd'}, 0};
  WriteTestData(folder_.File("pairs"), (*retrieval)->Spec(),
                {{"train", {cites, does_not, cites, does_not}},
                 {"validation", {cites}},
                 {"test", {cites, does_not}}});
  BaselineRequest request;
  request.task = "retrieval";
  request.data_dir = folder_.File("pairs");
  request.options.quiet = true;
  const auto quick = PredictBaselines(request);
  ASSERT_TRUE(quick.ok()) << quick.status();
  EXPECT_EQ(quick->predictions.back().facts.name, "bag_of_units");
  EXPECT_THAT(quick->left_out, ElementsAre("ngram_linear", "overlap"));
  request.options.all = true;
  const auto all = PredictBaselines(request);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->predictions.back().facts.name, "overlap");
  EXPECT_TRUE(all->left_out.empty());
}

// A table of all triples of 602 ids would take a gigabyte.
TEST_F(BaselineTest, WhatDoesNotFitIntoMemoryIsNamed) {
  PrepareOptions prepare;
  prepare.task = "copy";
  prepare.out = folder_.File("copies");
  prepare.set = {"alphabet=600",      "min_symbols=3",         "max_symbols=5",
                 "train_examples=30", "validation_examples=5", "test_examples=5"};
  prepare.quiet = true;
  ASSERT_TRUE(Prepare(prepare).ok());
  BaselineRequest request;
  request.task = "copy";
  request.data_dir = prepare.out;
  request.view.sets = {"target=MASKED"};
  testing::internal::CaptureStderr();
  const auto results = PredictBaselines(request);
  const std::string words = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->predictions.size(), 2u);
  EXPECT_TRUE(results->left_out.empty());
  EXPECT_THAT(results->notes,
              ElementsAre("baseline two_sided is left out: there are 602 ids, and its tables are "
                          "made for at most 512"));
  EXPECT_THAT(words, testing::HasSubstr("note: baseline two_sided is left out"));
}

// Every task says its own, under names and bars that tables can tell apart. Those with a
// fixed place in lists have more than the majority class; a task that somebody adds need not.
TEST_F(BaselineTest, FactsOfEveryTaskAreComplete) {
  for (const std::string& name : TaskRegistry::Get().Names()) {
    const auto task = MakeTask(name);
    ASSERT_TRUE(task.ok()) << task.status();
    std::set<std::string> names, bars;
    for (const auto& method : AllBaselines(**task, DataView())) {
      const BaselineFacts& facts = method->facts();
      EXPECT_TRUE(names.insert(facts.name).second) << name << " " << facts.name;
      EXPECT_TRUE(bars.insert(facts.bar).second) << name << " " << facts.bar;
      EXPECT_THAT(facts.description, testing::EndsWith(".")) << name << " " << facts.name;
      EXPECT_FALSE(facts.ignores.empty()) << name << " " << facts.name;
    }
    if (!LoadTaskFile(name)->has_order()) continue;
    EXPECT_GE(names.size(), 2u) << name << " has nothing above the majority class";
  }
}

TEST_F(BaselineTest, NamesOfADataSetsRows) {
  Manifest manifest;
  *manifest.mutable_spec() = task_->Spec();
  EXPECT_THAT(*BaselineNamesOf(manifest), ElementsAre("majority", "root_operator", "depth_1",
                                                      "depth_2", "depth_3", "depth_4", "depth_5"));
  manifest.mutable_spec()->set_name("somebody_elses");
  EXPECT_TRUE(BaselineNamesOf(manifest)->empty());
}

}  // namespace
}  // namespace lra
