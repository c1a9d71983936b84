#include "lra/pretrain_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lra/config.h"
#include "lra/config_check.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ExperimentConfig With(const std::vector<std::string>& sets) {
  ExperimentConfig config;
  config.mutable_train()->set_batch_examples(32);
  for (const std::string& set : sets) EXPECT_EQ(SetField(&config, set), absl::OkStatus());
  return config;
}

absl::StatusOr<ResolvedConfig> Build(const std::vector<std::string>& sets) {
  ConfigBuilder builder("text");
  EXPECT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("linear").ok());
  for (const std::string& set : sets) EXPECT_EQ(builder.Set(set), absl::OkStatus());
  return builder.Build();
}

TEST(PretrainBudgetTest, StepsFollowFromExamples) {
  EXPECT_THAT(PretrainBudgetSteps(With({})), IsEmpty());
  EXPECT_EQ(PretrainSteps(With({})), 0);
  EXPECT_EQ(PretrainSteps(With({"pretrain.examples=12800"})), 400);
  EXPECT_EQ(PretrainSteps(With({"pretrain.examples=12801"})), 401);
  EXPECT_THAT(PretrainBudgetSteps(
                  With({"pretrain.examples=960", "pretrain.continued_from_examples=320,640"})),
              ElementsAre(10, 20, 30));
  EXPECT_EQ(PretrainSteps(With({"pretrain.steps=400"})), 400) << "an older record";
}

TEST(PretrainBudgetTest, ABudgetInStepsIsToldItsExamples) {
  EXPECT_EQ(CheckPretrainBudget(With({"pretrain.steps=400"})),
            absl::InvalidArgumentError(
                "pretrain.steps: the budget of pretraining is given in examples seen now; instead "
                "of 400 steps of 32 examples write pretrain.examples=12800"));
  EXPECT_EQ(Build({"pretrain.steps=400"}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PretrainBudgetTest, BudgetsRise) {
  EXPECT_EQ(CheckPretrainBudget(
                With({"pretrain.examples=960", "pretrain.continued_from_examples=320,640"})),
            absl::OkStatus());
  EXPECT_THAT(std::string(CheckPretrainBudget(With({"pretrain.examples=960",
                                                    "pretrain.continued_from_examples=640,320"}))
                              .message()),
              HasSubstr("budgets must rise up to pretrain.examples, 960; 320 follows 640"));
  EXPECT_FALSE(
      CheckPretrainBudget(With({"pretrain.examples=960", "pretrain.continued_from_examples=960"}))
          .ok());
}

TEST(PretrainBudgetTest, WhatIsLeftUnsetComesFromItsFile) {
  const std::vector<std::string> asked = {"pretrain.objective=CAUSAL", "pretrain.examples=64",
                                          "pretrain.learning_rate=1e-3"};
  auto resolved = Build(asked);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->config.pretrain().until(), PretrainConfig::UNIGRAM);
  EXPECT_FLOAT_EQ(resolved->config.pretrain().warmup_fraction(), 0.1f);
  EXPECT_EQ(resolved->provenance.at("pretrain.until"), "default of pretraining");
  for (const ChangedRule& rule : resolved->changed_rules)
    EXPECT_NE(rule.path(), "pretrain.until") << "a default changes no rule";
  std::vector<std::string> other = asked;
  other.push_back("pretrain.until=BIGRAM");
  resolved = Build(other);
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->config.pretrain().until(), PretrainConfig::BIGRAM);
  EXPECT_FALSE(Build({})->config.has_pretrain());
}

// What is in a checkpoint's or a weights file's configuration was valid in its time.
TEST(PretrainBudgetTest, OlderConfigurationsAreRead) {
  ExperimentConfig config = Build({})->config;
  for (const char* set : {"pretrain.steps=400", "pretrain.objective=CAUSAL"})
    EXPECT_EQ(SetField(&config, set), absl::OkStatus());
  EXPECT_EQ(CheckStoredConfig(config), absl::OkStatus());
}

std::vector<std::pair<std::string, std::string>> Before(const std::vector<std::string>& now,
                                                        const std::vector<std::string>& then) {
  return LeafFields(AsBefore(With(now).pretrain(), With(then).pretrain()));
}

TEST(PretrainBudgetTest, GoesOnWhereBudgetsFollow) {
  const std::vector<std::string> then = {"pretrain.examples=320", "pretrain.until=UNIGRAM"};
  const auto fields = LeafFields(With(then).pretrain());
  EXPECT_EQ(Before({"pretrain.examples=320", "pretrain.until=NOTHING"}, then), fields);
  EXPECT_EQ(Before({"pretrain.examples=960", "pretrain.until=UNIGRAM",
                    "pretrain.continued_from_examples=320,640"},
                   then),
            fields);
  EXPECT_NE(Before({"pretrain.examples=960", "pretrain.until=UNIGRAM",
                    "pretrain.continued_from_examples=640"},
                   then),
            fields);
  EXPECT_NE(Before({"pretrain.examples=960", "pretrain.until=UNIGRAM"}, then), fields);
  EXPECT_NE(
      Before({"pretrain.examples=320", "pretrain.until=UNIGRAM", "pretrain.learning_rate=1"}, then),
      fields);
}

}  // namespace
}  // namespace lra
