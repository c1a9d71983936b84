#include "lra/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "lra/config.h"
#include "lra/experiment.h"
#include "lra/fingerprint.h"

namespace lra {
namespace {

TEST(CheckConfigTest, IsWhatBuildDemands) {
  ConfigBuilder builder("listops");
  ASSERT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("linear").ok());
  const ExperimentConfig whole = builder.Build()->config;
  EXPECT_TRUE(CheckStoredConfig(whole).ok()) << CheckStoredConfig(whole);
  ExperimentConfig part = whole;
  part.clear_train();
  EXPECT_EQ(CheckStoredConfig(part).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(CheckStoredConfig(part).message()),
              testing::StartsWith("unset: train.steps, train.batch_examples"));
  part = whole;
  part.mutable_model()->set_heads(3);
  EXPECT_THAT(std::string(CheckStoredConfig(part).message()),
              testing::HasSubstr("does not divide"));
  part = whole;
  part.mutable_model()->set_layers(0);
  EXPECT_THAT(std::string(CheckStoredConfig(part).message()), testing::HasSubstr("model.layers"));
}

ResolvedConfig BuildWith(const std::vector<std::string>& sets) {
  ConfigBuilder builder("listops");
  EXPECT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("linear").ok());
  for (const std::string& set : sets) EXPECT_EQ(builder.Set(set), absl::OkStatus());
  const auto resolved = builder.Build();
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return *resolved;
}

std::vector<std::string> WarningsWith(const std::vector<std::string>& sets) {
  return BuildWith(sets).warnings;
}

TEST(CheckConfigTest, FieldsThatSayNothingAreNamedWhereTheUserSetThem) {
  EXPECT_THAT(WarningsWith({}), testing::Not(testing::Contains(testing::HasSubstr("nothing"))));
  EXPECT_THAT(
      WarningsWith({"schedule.plateau_factor=0.5"}),
      testing::Contains("schedule.plateau_factor=0.5 changes nothing, because schedule.kind is "
                        "COSINE; it is left out"));
  EXPECT_THAT(WarningsWith({"schedule.kind=PLATEAU", "schedule.plateau_factor=0.5",
                            "schedule.plateau_patience_evaluations=3"}),
              testing::Not(testing::Contains(testing::HasSubstr("nothing"))));
  EXPECT_THAT(WarningsWith({"schedule.kind=STEP", "schedule.drop_step=5",
                            "schedule.drop_factor=0.1", "model.mixture_components=3"}),
              testing::AllOf(testing::Contains(testing::HasSubstr("view.target is LABEL")),
                             testing::Not(testing::Contains(testing::HasSubstr("schedule.drop")))));
  EXPECT_THAT(WarningsWith({"model.token_head=LOGISTIC_MIXTURE", "model.final_norm=true"}),
              testing::IsSupersetOf({testing::HasSubstr("view.target is LABEL"),
                                     testing::HasSubstr("model.norm_placement is BEFORE")}));
  EXPECT_THAT(WarningsWith({"evaluation.step=5"}),
              testing::Contains(testing::HasSubstr("evaluation.selection is BEST_VALIDATION")));
}

std::vector<std::string> Joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(CheckConfigTest, FieldsThatSayNothingSeparateNoRuns) {
  const struct {
    std::vector<std::string> others;  // beside which `idle` says nothing
    std::string idle;
    std::vector<std::string> matters;  // beside which it does
  } cases[] = {
      {{},
       "schedule.plateau_factor=0.5",
       {"schedule.kind=PLATEAU", "schedule.plateau_patience_evaluations=3"}},
      {{}, "evaluation.step=5", {"evaluation.selection=FIXED_STEP"}},
      {{}, "evaluation.batch_statistics=PRECISE", {"model.pooled_norm=OVER_EXAMPLES"}},
      {{"schedule.warmup_steps=7"}, "schedule.warmup_fraction=0.3", {}},
      {{}, "model.cls_mask=AS_FIRST_TOKEN", {"model.pooling=CLS"}},
      {{"schedule.kind=ONE_CYCLE"}, "optimizer.beta1=0.5", {"schedule.kind=COSINE"}},
      {{"block.name=gated_attention"}, "model.heads=4", {"block.name=attention_mlp"}},
      {{"block.name=gated_attention", "model.head_width=128"},
       "model.mlp_width=256",
       {"block.name=attention_mlp"}},
      {{"pretrain.examples=320", "pretrain.learning_rate=0.001", "pretrain.objective=CAUSAL"},
       "pretrain.masked_fraction=0.25",
       {"pretrain.objective=MASKED"}},
  };
  for (const auto& [others, idle, matters] : cases) {
    SCOPED_TRACE(idle);
    const ResolvedConfig without = BuildWith(others), with = BuildWith(Joined(others, {idle}));
    EXPECT_EQ(LeafFields(with.config), LeafFields(without.config));
    EXPECT_EQ(with.provenance, without.provenance);
    EXPECT_EQ(Fingerprint(with.config), Fingerprint(without.config));
    EXPECT_EQ(ExperimentName(with.config), ExperimentName(without.config));
    EXPECT_EQ(with.changed_rules.size(), without.changed_rules.size());
    EXPECT_EQ(with.warnings.size(), without.warnings.size() + 1);
    if (matters.empty()) continue;
    const ResolvedConfig read = BuildWith(Joined(others, Joined({idle}, matters)));
    const std::vector<std::string> parts = absl::StrSplit(idle, '=');
    EXPECT_THAT(LeafFields(read.config), testing::Contains(testing::Pair(parts[0], parts[1])));
    EXPECT_THAT(read.warnings, testing::Not(testing::Contains(testing::HasSubstr("is left out"))));
  }
}

// They are told, and stay: the names and fingerprints of runs that have them are older.
TEST(CheckConfigTest, FieldsThatAreNotReadAreNamedAndStay) {
  const struct {
    std::vector<std::string> others;  // beside which `unread` says nothing
    std::string unread, why;
    std::vector<std::string> matters;  // beside which it does
  } cases[] = {
      {{"search.learning_rate=1e-3,1e-4", "search.budget_trials=2", "search.select=VALIDATION"},
       "schedule.learning_rate=0.5",
       "a search takes the rates of search.learning_rate",
       {}},
      {{"optimizer.clip_norm=0"},
       "optimizer.clip_scope=EACH_PARAMETER",
       "optimizer.clip_norm is 0",
       {"optimizer.clip_norm=1"}},
      {{"optimizer.state_space_learning_rate=0"},
       "optimizer.state_space_rate_covers_step=false",
       "optimizer.state_space_learning_rate is 0",
       {"optimizer.state_space_learning_rate=0.001"}},
      {{"train.drop_last=true"},
       "train.last_batch=BY_EXAMPLES",
       "train.drop_last is true",
       {"train.drop_last=false"}},
      {{"train.shuffle=WHOLE_BATCHES"},
       "train.bucket_window_batches=3",
       "train.shuffle is WHOLE_BATCHES",
       {"train.shuffle=EXAMPLES"}},
      {{"view.target=NEXT", "attention.causal=true"},
       "model.pooling=MAX",
       "view.target is NEXT",
       {"view.target=LABEL"}},
  };
  for (const auto& [others, unread, why, matters] : cases) {
    SCOPED_TRACE(unread);
    const ResolvedConfig with = BuildWith(Joined(others, {unread}));
    EXPECT_THAT(with.warnings, testing::Contains(unread + " changes nothing, because " + why));
    const std::vector<std::string> parts = absl::StrSplit(unread, '=');
    EXPECT_THAT(LeafFields(with.config), testing::Contains(testing::Pair(parts[0], parts[1])));
    EXPECT_NE(Fingerprint(with.config), Fingerprint(BuildWith(others).config));
    const auto nothing = testing::Contains(testing::HasSubstr("changes nothing"));
    EXPECT_THAT(BuildWith(others).warnings, testing::Not(nothing));
    if (matters.empty()) continue;
    EXPECT_THAT(BuildWith(Joined(others, Joined({unread}, matters))).warnings,
                testing::Not(nothing));
  }
}

// The share of hidden tokens is 15 % whether that is written out or not.
TEST(CheckConfigTest, ADefaultThatAnotherFieldImpliesSeparatesNoRuns) {
  const struct {
    std::string other, implied;
  } cases[] = {{"view.target=MASKED", "view.masked_fraction=0.15"},
               {"view.unit=CODE_POINT", "view.min_code_point_count=15"},
               {"view.pixels=IDS", "view.zero_is_padding=false"},
               {"view.pixels=REAL", "view.real_mean=0.5"},
               {"view.pixels=REAL", "view.real_stddev=0.5"}};
  for (const auto& [other, implied] : cases) {
    SCOPED_TRACE(implied);
    const ResolvedConfig without = BuildWith({other}), with = BuildWith({other, implied});
    EXPECT_EQ(LeafFields(with.config), LeafFields(without.config));
    EXPECT_EQ(with.provenance, without.provenance);
    EXPECT_EQ(Fingerprint(with.config), Fingerprint(without.config));
    EXPECT_EQ(with.changed_rules.size(), without.changed_rules.size());
    const std::vector<std::string> parts = absl::StrSplit(implied, '=');
    EXPECT_THAT(LeafFields(without.config), testing::Contains(testing::Pair(parts[0], parts[1])));
    EXPECT_THAT(LeafFields(BuildWith({}).config),
                testing::Not(testing::Contains(testing::Pair(parts[0], testing::_))));
  }
  const auto view = [](const std::vector<std::string>& sets) {
    return LoadView("text", "fair", "small", sets).value();
  };
  EXPECT_EQ(Fingerprint(view({"target=MASKED"})),
            Fingerprint(view({"target=MASKED", "masked_fraction=0.15"})));
  EXPECT_NE(Fingerprint(view({"target=MASKED"})),
            Fingerprint(view({"target=MASKED", "masked_fraction=0.3"})));
}

// The block has no MLP, but the head takes its width from there.
TEST(CheckConfigTest, AWidthThatTheHeadFollowsIsKept) {
  const ResolvedConfig resolved = BuildWith({"block.name=gated_attention", "model.mlp_width=256"});
  EXPECT_EQ(resolved.config.model().head_width(), 256);
  EXPECT_THAT(resolved.warnings, testing::Not(testing::Contains(testing::HasSubstr("left out"))));
}

TEST(CheckConfigTest, HeadsThatNobodyReadsNeedNotDivideAWidth) {
  EXPECT_EQ(BuildWith({"block.name=gated_attention", "model.width=102"}).config.model().width(),
            102);
  ConfigBuilder builder("listops");
  ASSERT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("linear").ok());
  ASSERT_EQ(builder.Set("model.width=102"), absl::OkStatus());
  ASSERT_EQ(builder.Set("model.heads=4"), absl::OkStatus());
  EXPECT_THAT(std::string(builder.Build().status().message()), testing::HasSubstr("model.heads"));
}

// The value of a fragment comes back, with its origin.
TEST(CheckConfigTest, AnIdleFieldOfARunFileIsLeftOutToo) {
  ConfigBuilder builder("listops");
  ASSERT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("linear").ok());
  ExperimentConfig overrides;
  overrides.mutable_block()->set_name("gated_attention");
  overrides.mutable_model()->set_heads(4);
  ASSERT_TRUE(builder.AddOverrides(overrides, "run file mine").ok());
  const auto resolved = builder.Build();
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->config.model().heads(), 2);
  EXPECT_EQ(resolved->provenance.at("model.heads"), "preset small");
  EXPECT_THAT(resolved->warnings, testing::Contains(testing::StartsWith("model.heads=4 changes")));
}

absl::StatusOr<ResolvedConfig> Smooth(const std::string& task, const std::string& protocol) {
  ConfigBuilder builder(task);
  EXPECT_TRUE(builder.AddProtocol(protocol).ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("linear").ok());
  EXPECT_EQ(builder.Set("model.embedding_start=SMOOTH"), absl::OkStatus());
  return builder.Build();
}

// A number of S4's images is mapped as it is, and an operator of ListOps has no neighbours.
TEST(CheckConfigTest, OnlyValuesOfPixelsBeginAlike) {
  EXPECT_EQ(Smooth("image", "fair")->config.model().embedding_start(), ModelConfig::SMOOTH);
  EXPECT_EQ(Smooth("cifar_pixels", "fair")->config.model().embedding_start(), ModelConfig::SMOOTH);
  const auto real = Smooth("image", "s4");
  EXPECT_EQ(real->config.model().embedding_start(), ModelConfig::INDEPENDENT);
  EXPECT_THAT(real->warnings, testing::Contains(testing::HasSubstr("view.pixels is REAL")));
  EXPECT_EQ(Smooth("listops", "fair").status(),
            absl::InvalidArgumentError(
                "model.embedding_start=SMOOTH is for values of pixels, near ones of which look "
                "alike; the ids of listops are names: use INDEPENDENT"));
}

TEST(CheckConfigTest, ASelectedStepIsAStepOfTheRun) {
  ConfigBuilder builder("listops");
  ASSERT_TRUE(builder.AddProtocol("fair").ok() && builder.AddPreset("small").ok() &&
              builder.AddAttention("linear").ok());
  for (const char* set :
       {"train.steps=10", "evaluation.selection=FIXED_STEP", "evaluation.step=11"})
    ASSERT_TRUE(builder.Set(set).ok());
  EXPECT_EQ(builder.Build().status(),
            absl::InvalidArgumentError("evaluation.step: is 11, must be at most train.steps, 10"));
}

}  // namespace
}  // namespace lra
