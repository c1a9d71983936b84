#include "tasks/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "datasets/test_data.h"
#include "lra/config.h"
#include "lra/test_folder.h"

namespace lra {
namespace {

using testing::FloatNear;

class BaselineTest : public testing::Test {
 protected:
  BaselineTest()
      : task_(*TaskRegistry::Get().Create("task", "listops", LoadTaskFile("listops")->options())) {
    // Root MAX (12): labels 9, 9, 8. Root MIN (11): 0. Validation: MAX, MIN, SM (14, never seen), a
    // digit.
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
  const auto baselines = RunBaselines(*task_, *data, "validation");
  ASSERT_TRUE(baselines.ok()) << baselines.status();
  ASSERT_EQ(baselines->size(), 2u);
  const BaselinePrediction& majority = (*baselines)[0];
  const BaselinePrediction& shortcut = (*baselines)[1];
  EXPECT_EQ(majority.name, "majority");
  EXPECT_EQ(shortcut.name, "root_operator");
  ASSERT_EQ(majority.logits.size(), 40u);
  ASSERT_EQ(shortcut.logits.size(), 40u);
  const auto probability = [](const BaselinePrediction& b, int example, int label) {
    return std::exp(b.logits[example * 10 + label]);
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

TEST_F(BaselineTest, NeedsTheTrainingSplit) {
  const auto data = Dataset::Open(folder_.File("d"), {.splits = {"validation"}});
  EXPECT_EQ(RunBaselines(*task_, *data, "validation").status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace lra
