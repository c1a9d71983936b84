#include "models/nominal_cost.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lra/config.h"
#include "lra/experiment.h"

namespace lra {
namespace {

double OperationsOf(const std::string& attention, const std::vector<std::string>& sets,
                    int64_t tokens) {
  const auto resolved = ResolveExperiment(
      {.task = "listops", .attention = attention, .preset = "smoke", .sets = sets});
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  const auto operations = NominalOperations(resolved->config, tokens);
  EXPECT_TRUE(operations.ok()) << operations.status();
  return operations.value_or(0);
}

TEST(NominalOperations, GrowsWithStepsBatchLengthAndTrials) {
  const double one = OperationsOf("linear", {"train.steps=10", "train.batch_examples=8"}, 100);
  EXPECT_GT(one, 0);
  EXPECT_DOUBLE_EQ(OperationsOf("linear", {"train.steps=30", "train.batch_examples=8"}, 100),
                   3 * one);
  EXPECT_DOUBLE_EQ(OperationsOf("linear", {"train.steps=10", "train.batch_examples=16"}, 100),
                   2 * one);
  EXPECT_DOUBLE_EQ(OperationsOf("linear", {"train.steps=10", "train.batch_examples=8"}, 400),
                   4 * one);
  EXPECT_DOUBLE_EQ(
      OperationsOf("linear",
                   {"train.steps=10", "train.batch_examples=8", "search.learning_rate=1e-3,1e-4",
                    "search.budget_trials=2", "search.select=VALIDATION"},
                   100),
      2 * one);
}

TEST(NominalOperations, SoftmaxGrowsWithTheSquareOfTheLength) {
  const double short_one = OperationsOf("transformer", {}, 1000);
  const double long_one = OperationsOf("transformer", {}, 100000);
  EXPECT_GT(long_one, 5000 * short_one);
  EXPECT_DOUBLE_EQ(OperationsOf("linear", {}, 100000), 100 * OperationsOf("linear", {}, 1000));
  EXPECT_GT(short_one, OperationsOf("linear", {}, 1000));
}

}  // namespace
}  // namespace lra
