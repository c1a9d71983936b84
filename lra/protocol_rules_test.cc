// On the configurations of the tree.
#include "lra/protocol_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lra/experiment.h"

namespace lra {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Under {
  std::string protocol, task, attention = "transformer", preset = "small";
};

absl::StatusOr<ResolvedConfig> TryResolve(const Under& what,
                                          const std::vector<std::string>& sets = {}) {
  return ResolveExperiment({.task = what.task,
                            .attention = what.attention,
                            .protocol = what.protocol,
                            .preset = what.preset,
                            .sets = sets});
}

ResolvedConfig ResolveUnder(const Under& what, const std::vector<std::string>& sets = {}) {
  const auto resolved = TryResolve(what, sets);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.ok() ? *resolved : ResolvedConfig();
}

// "path: protocol's value -> value (origin)"
std::vector<std::string> ChangesOf(const ResolvedConfig& resolved) {
  std::vector<std::string> lines;
  for (const ChangedRule& rule : resolved.changed_rules) {
    lines.push_back(absl::StrCat(rule.path(), ": ", rule.protocol_value(), " -> ", rule.value(),
                                 " (", rule.origin(), ")"));
  }
  return lines;
}

TEST(ProtocolRulesTest, AFullNameIsANameAndAVersion) {
  EXPECT_EQ(ProtocolName("fair@12"), "fair");
  EXPECT_EQ(ProtocolVersion("fair@12"), 12);
  EXPECT_EQ(ProtocolName("fair"), "fair");
  EXPECT_EQ(ProtocolVersion("fair"), 0);
  EXPECT_EQ(ProtocolVersion("fair@new"), 0);
}

TEST(ProtocolRulesTest, SizesLeaveTheBudgetToTheProtocol) {
  const ResolvedConfig text = ResolveUnder({"nystrom", "text"});
  EXPECT_EQ(text.config.train().steps(), 20000);
  EXPECT_EQ(text.config.schedule().warmup_steps(), 8000);
  EXPECT_THAT(ChangesOf(text), IsEmpty());
  const ResolvedConfig image = ResolveUnder({"s4", "image"});
  EXPECT_EQ(image.config.train().steps(), 180000);
  EXPECT_EQ(image.config.train().batch_examples(), 50);
  EXPECT_THAT(image.warnings, IsEmpty());
  for (const char* preset : {"lra2020", "lra2020_paper", "nystrom", "s4"}) {
    for (const char* protocol : {"fair", "lra2020", "lra2020_paper", "nystrom", "s4"})
      EXPECT_THAT(ChangesOf(ResolveUnder({protocol, "retrieval", "transformer", preset})),
                  IsEmpty())
          << protocol << " " << preset;
  }
}

TEST(ProtocolRulesTest, ARuleThatIsChangedIsNamedWithWhatChangedIt) {
  EXPECT_THAT(ChangesOf(ResolveUnder({"fair", "image"})),
              ElementsAre("train.steps: 35000 -> 5000 (preset small under protocol fair)",
                          "train.batch_examples: 256 -> 32 (preset small under protocol fair)"));
  EXPECT_THAT(ChangesOf(ResolveUnder({"nystrom", "image"},
                                     {"optimizer.clip_norm=1", "schedule.learning_rate=1e-4"})),
              ElementsAre("optimizer.clip_norm: 0 -> 1 (--set)"));
}

// A protocol need not say that there is no pretraining, nor both spellings of the warm-up.
TEST(ProtocolRulesTest, WhatTheProtocolLeavesUnsetIsARuleToo) {
  EXPECT_THAT(
      ChangesOf(
          ResolveUnder({"s4", "image"}, {"schedule.warmup_steps=7", "pretrain.objective=CAUSAL",
                                         "pretrain.examples=96", "pretrain.learning_rate=1"})),
      ElementsAre("schedule.warmup_steps:  -> 7 (--set)", "pretrain.objective:  -> CAUSAL (--set)",
                  "pretrain.learning_rate:  -> 1 (--set)", "pretrain.examples:  -> 96 (--set)"));
}

TEST(ProtocolRulesTest, SizesAndTheProtocolsRulesForAMethodAreNoChange) {
  EXPECT_THAT(ChangesOf(ResolveUnder({"nystrom", "image"},
                                     {"model.layers=5", "model.width=128", "seed=4"})),
              IsEmpty());
  const ResolvedConfig sinkhorn = ResolveUnder({"lra2020", "image", "sinkhorn", "lra2020"});
  EXPECT_FLOAT_EQ(sinkhorn.config.optimizer().weight_decay(), 0.7f);
  EXPECT_THAT(ChangesOf(sinkhorn), IsEmpty());
  EXPECT_THAT(ChangesOf(ResolveUnder({"lra2020", "image", "sinkhorn", "lra2020"},
                                     {"attention.options.block_tokens=32"})),
              ElementsAre("attention.options.block_tokens: 64 -> 32 (--set)"));
}

// The protocol says view.pixels=IDS of them, which implies view.zero_is_padding=false; a field that
// no user set would be in the way of other pixels.
TEST(ProtocolRulesTest, PixelsThatAreGuessedMayBeReadInAnotherWay) {
  for (const char* task : {"mnist_pixels", "cifar_pixels"}) {
    SCOPED_TRACE(task);
    const Under what = {.protocol = "fair", .task = task};
    EXPECT_THAT(ChangesOf(ResolveUnder(what)), Not(Contains(HasSubstr("view."))));
    EXPECT_TRUE(ResolveUnder(what).config.view().has_zero_is_padding());
    const ResolvedConfig plus_one = ResolveUnder(what, {"view.pixels=IDS_PLUS_ONE"});
    EXPECT_FALSE(plus_one.config.view().has_zero_is_padding());
    EXPECT_THAT(ChangesOf(plus_one), Contains("view.pixels: IDS -> IDS_PLUS_ONE (--set)"));
  }
}

TEST(ProtocolRulesTest, AWarmupThatOutlastsTheRunIsRefusedWithBothNumbers) {
  EXPECT_EQ(TryResolve({"nystrom", "text"}, {"train.steps=5000"}).status(),
            absl::InvalidArgumentError(
                "schedule.warmup_steps: the warm-up of 8000 steps (protocol nystrom, task text) "
                "outlasts the run of 5000 (train.steps: --set), so the full learning rate is never "
                "reached; train longer, or say how long it is to be: --set "
                "schedule.warmup_steps=500"));
  EXPECT_TRUE(TryResolve({"nystrom", "text"}, {"train.steps=8000"}).ok());
  EXPECT_FALSE(TryResolve({"nystrom", "text"}, {"train.steps=7999"}).ok());
}

TEST(ProtocolRulesTest, ALongWarmupPassesWhereItIsAskedFor) {
  EXPECT_TRUE(
      TryResolve({"nystrom", "text"}, {"train.steps=5000", "schedule.warmup_steps=8000"}).ok());
  // The official Retrieval run ends inside its warm-up; a shorter one is not the official one.
  EXPECT_EQ(ResolveUnder({"lra2020", "retrieval"}).config.schedule().warmup_steps(), 8000);
  EXPECT_THAT(
      std::string(TryResolve({"lra2020", "retrieval"}, {"train.steps=4000"}).status().message()),
      HasSubstr("the warm-up of 8000 steps"));
}

TEST(ProtocolRulesTest, BudgetsAreWarnedOfWithBothNumbers) {
  EXPECT_THAT(ResolveUnder({"fair", "image"}).warnings,
              ElementsAre("the budget is 5000 steps of 32 examples (preset small under protocol "
                          "fair), protocol fair@1 says 35000 of 256: 1.79 % of its examples"));
  EXPECT_THAT(ResolveUnder({"s4", "image"}, {"train.steps=800"}).warnings,
              ElementsAre("train.eval_every_steps is 900, but the run has 800 steps: validation is "
                          "looked at once, after the last",
                          HasSubstr("the budget is 800 steps of 50 examples (--set), protocol s4@4 "
                                    "says 180000 of 50")));
  EXPECT_THAT(
      ResolveUnder({"s4", "image"}, {"train.steps=360000", "train.batch_examples=25"}).warnings,
      IsEmpty());
}

TEST(ProtocolRulesTest, WarmupStepsWinOverTheFraction) {
  ScheduleConfig schedule;
  schedule.set_warmup_fraction(0.1f);
  EXPECT_EQ(WarmupSteps(schedule, 155), 16);
  schedule.set_warmup_steps(3);
  EXPECT_EQ(WarmupSteps(schedule, 155), 3);
}

}  // namespace
}  // namespace lra
