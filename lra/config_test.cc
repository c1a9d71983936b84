#include "lra/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "lra/config_folder_test_util.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/textproto_test_util.h"
#include "models/block/gated_attention.pb.h"

namespace lra {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// Builds from config files that the test writes itself.
class ConfigBuilderTest : public ConfigFolderTest {
 protected:
  void SetUp() override {
    Write("protocols/rules", R"(
      name: "rules" version: 3
      base {
        view { max_length_tokens: 100 }
        model { positions: SINUSOID pooling: MEAN activation: GELU_ERF attention_bias: false
                dropout: 0 norm_epsilon: 1e-5 embedding_stddev: 1 mask: KEYS cls_mask: REAL
                head: LINEAR pair_head: INTERACTION head_activation: RELU norm: LAYER
                norm_placement: BEFORE }
        block { name: "attention_mlp" }
        attention { dropout: 0 causal: false }
        optimizer { beta1: 0.9 beta2: 0.98 epsilon: 1e-8 weight_decay: 0 decay_scope: MATRICES
                    clip_norm: 1 clip_value: 0 kind: ADAM decay: DECOUPLED
                    state_space_learning_rate: 0 }
        schedule { kind: COSINE learning_rate: 1 warmup_fraction: 0.1 }
        train { steps: 1000 batch_examples: 32 eval_every_steps: 1 log_every_steps: 1
                validation_examples: 0 bucket_window_batches: 1 shuffle: EXAMPLES
                drop_last: false early_stop_evaluations: 0 }
        evaluation { selection: LAST drop_last: false }
        numerics { precision: FP32 }
      }
      task { key: "listops" value { train { steps: 2000 } view { max_length_tokens: 200 } } })");
    Write("presets/tiny", R"(
      name: "tiny" version: 1
      base { model { layers: 1 width: 8 heads: 2 mlp_width: 16 } train { batch_examples: 4 } })");
    Write("attentions/linear", R"(
      attention { name: "linear"
                  options { [type.googleapis.com/lra.LinearOptions] { epsilon: 1e-6 } } })");
    Write("blocks/attention_mlp", R"(block { name: "attention_mlp" })");
    Write("blocks/gated_attention", R"(
      block { name: "gated_attention"
              options { [type.googleapis.com/lra.GatedAttentionOptions] {
                expansion_factor: 2 key_width: 128 } } }
      idle_field: "model.mlp_width" idle_field: "model.heads")");
    Write("attentions/transformer", R"(
      attention { name: "transformer"
                  options { [type.googleapis.com/lra.TransformerOptions] {} } })");
  }
  ConfigBuilder Complete() {
    ConfigBuilder builder("listops");
    EXPECT_EQ(builder.AddProtocol("rules"), absl::OkStatus());
    EXPECT_EQ(builder.AddPreset("tiny"), absl::OkStatus());
    EXPECT_EQ(builder.AddAttention("linear"), absl::OkStatus());
    return builder;
  }

  std::string BuildError(const std::vector<std::string>& sets) {
    ConfigBuilder builder = Complete();
    for (const std::string& set : sets) EXPECT_EQ(builder.Set(set), absl::OkStatus());
    const absl::Status status = builder.Build().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }
};

TEST_F(ConfigBuilderTest, MergesInOrderAndRemembersOrigins) {
  ConfigBuilder builder = Complete();
  ASSERT_EQ(
      builder.AddOverrides(Parse<ExperimentConfig>("model { pooling: CLS }"), "run file quick"),
      absl::OkStatus());
  ASSERT_EQ(builder.Set("train.log_every_steps=7"), absl::OkStatus());
  const auto resolved = builder.Build();
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  const ExperimentConfig& config = resolved->config;
  EXPECT_EQ(config.task(), "listops");
  EXPECT_EQ(config.protocol(), "rules@3");
  EXPECT_EQ(config.preset(), "tiny");
  EXPECT_EQ(config.train().steps(), 2000);         // what the protocol says for the task
  EXPECT_EQ(config.train().batch_examples(), 4);   // the preset overrides the protocol
  EXPECT_EQ(config.train().log_every_steps(), 7);  // --set overrides everything
  EXPECT_EQ(config.model().pooling(), ModelConfig::CLS);
  EXPECT_EQ(config.model().qkv_width(), 8);
  EXPECT_EQ(config.model().head_width(), 16);
  EXPECT_TRUE(config.has_seed());
  EXPECT_EQ(config.seed(), 0u);

  const auto& origin = resolved->provenance;
  EXPECT_EQ(origin.at("model.dropout"), "protocol rules");
  EXPECT_EQ(origin.at("train.steps"), "protocol rules, task listops");
  EXPECT_EQ(origin.at("train.batch_examples"), "preset tiny");
  EXPECT_EQ(origin.at("train.log_every_steps"), "--set");
  EXPECT_EQ(origin.at("model.pooling"), "run file quick");
  EXPECT_EQ(origin.at("model.qkv_width"), "= model.width");
  EXPECT_EQ(origin.at("model.head_width"), "= model.mlp_width");
  EXPECT_EQ(origin.at("attention.options.epsilon"), "attention linear");
  EXPECT_EQ(origin.at("attention.dropout"), "protocol rules");
  EXPECT_EQ(origin.at("seed"), "default");
  // Every leaf has an origin and every origin belongs to a leaf.
  const auto leaves = LeafFields(config);
  EXPECT_EQ(leaves.size(), origin.size());
  for (const auto& [path, value] : leaves) EXPECT_TRUE(origin.count(path)) << path;
}

// General keys come before particular ones, and all of them after the attention's own file.
TEST_F(ConfigBuilderTest, FragmentsMayChangeOneMethod) {
  Write("protocols/rules", R"(
    name: "rules" version: 3
    base { train { steps: 7 } }
    method { key: "*/linear" value { train { steps: 8 log_every_steps: 2 } } }
    method { key: "text/linear" value { train { steps: 9 } } }
    method { key: "listops/transformer" value { train { steps: 10 } } })");
  Write("presets/tiny", R"(
    name: "tiny" version: 1
    protocol { key: "rules" value { schedule { learning_rate: 3 } } }
    protocol { key: "rules:text" value { schedule { warmup_steps: 5 } } }
    protocol { key: "rules:listops" value { schedule { learning_rate: 6 } } }
    protocol { key: "others" value { schedule { learning_rate: 4 } } }
    method { key: "rules:text/linear" value { train { batch_examples: 5 } } }
    method { key: "others:text/linear" value { train { batch_examples: 6 } } })");
  ConfigBuilder builder("text");
  ASSERT_EQ(builder.AddProtocol("rules"), absl::OkStatus());
  ASSERT_EQ(builder.AddPreset("tiny"), absl::OkStatus());
  ASSERT_EQ(builder.AddAttention("linear"), absl::OkStatus());
  const ExperimentConfig& config = builder.config();
  EXPECT_EQ(config.train().steps(), 9);
  EXPECT_EQ(config.train().log_every_steps(), 2);
  EXPECT_EQ(config.train().batch_examples(), 5);
  EXPECT_EQ(config.schedule().learning_rate(), 3);
  EXPECT_EQ(config.schedule().warmup_steps(), 5);
}

TEST_F(ConfigBuilderTest, AFragmentMayKeepTheMethodsOfTheOneItExtends) {
  Write("protocols/rules", R"(
    name: "rules" version: 3
    method { key: "*/linear" value { train { steps: 8 log_every_steps: 2 } } })");
  Write("protocols/keeping", R"(
    name: "keeping" version: 1 extends: "rules" keeps_methods: true
    method { key: "*/linear" value { train { steps: 9 } } })");
  ConfigBuilder builder("text");
  ASSERT_EQ(builder.AddProtocol("keeping"), absl::OkStatus());
  ASSERT_EQ(builder.AddAttention("linear"), absl::OkStatus());
  EXPECT_EQ(builder.config().train().steps(), 9);
  EXPECT_EQ(builder.config().train().log_every_steps(), 2);
}

TEST_F(ConfigBuilderTest, AFragmentMayExtendAnother) {
  Write("protocols/rules", R"(
    name: "rules" version: 3 description: "first"
    base { train { steps: 7 batch_examples: 2 } }
    task { key: "listops" value { train { eval_every_steps: 3 log_every_steps: 4 } } }
    task { key: "text" value { train { steps: 70 } } }
    method { key: "*/linear" value { train { steps: 1000 } } })");
  Write("protocols/middle", R"(name: "middle" version: 1 extends: "rules")");
  Write("protocols/variant", R"(
    name: "variant" version: 5 description: "second" extends: "middle"
    base { train { steps: 8 } }
    task { key: "listops" value { train { log_every_steps: 5 } } }
    task { key: "image" value { train { steps: 9 } } })");
  const auto file = LoadFragment("protocols", "variant");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->version(), 5);
  EXPECT_EQ(file->description(), "second");
  EXPECT_EQ(file->task().size(), 3u);
  ConfigBuilder builder("listops");
  ASSERT_EQ(builder.AddProtocol("variant"), absl::OkStatus());
  ASSERT_EQ(builder.AddAttention("linear"), absl::OkStatus());
  const TrainConfig& train = builder.config().train();
  // its own value; the method parts of the extended file are not taken over
  EXPECT_EQ(train.steps(), 8);
  EXPECT_EQ(train.batch_examples(), 2);
  EXPECT_EQ(train.eval_every_steps(), 3);
  EXPECT_EQ(train.log_every_steps(), 5);
  EXPECT_EQ(builder.config().protocol(), "variant@5");
}

TEST_F(ConfigBuilderTest, AFragmentThatExtendsItselfOrNothingIsRefused) {
  Write("protocols/a", R"(name: "a" version: 1 extends: "b")");
  Write("protocols/b", R"(name: "b" version: 1 extends: "a")");
  Write("protocols/c", R"(name: "c" version: 1 extends: "rulez")");
  const absl::Status circle = LoadFragment("protocols", "a").status();
  EXPECT_EQ(circle, absl::InvalidArgumentError(
                        "protocols/a.textproto: extends \"b\": protocols/b.textproto: extends "
                        "\"a\": goes round in a circle: a -> b -> a"));
  EXPECT_EQ(LoadFragment("protocols", "c").status(),
            absl::InvalidArgumentError(
                "protocols/c.textproto: extends \"rulez\": unknown protocol \"rulez\"; did you "
                "mean \"rules\"? Known: a, b, c, rules"));
}

TEST_F(ConfigBuilderTest, AProtocolWithoutRulesForTheTaskIsRefused) {
  ConfigBuilder builder("text");
  const absl::Status status = builder.AddProtocol("rules");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("has no rules for task \"text\"; it has listops"));
}

TEST_F(ConfigBuilderTest, AnotherAttentionLeavesNothingOfTheFirst) {
  ConfigBuilder builder = Complete();
  ASSERT_TRUE(builder.AddAttention("transformer").ok());
  const auto resolved = builder.Build();
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->provenance.count("attention.options.epsilon"), 0u);
  EXPECT_EQ(resolved->config.attention().options().value(), "");
}

TEST_F(ConfigBuilderTest, ABlockBringsItsOptions) {
  ConfigBuilder builder = Complete();
  ASSERT_EQ(builder.Set("block.name=gated_attention"), absl::OkStatus());
  ASSERT_EQ(builder.Set("block.options.key_width=64"), absl::OkStatus());
  auto resolved = builder.Build();
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->provenance.at("block.name"), "--set");
  EXPECT_EQ(resolved->provenance.at("block.options.key_width"), "--set");
  GatedAttentionOptions options;
  ASSERT_TRUE(resolved->config.block().options().UnpackTo(&options));
  EXPECT_EQ(options.expansion_factor(), 2);
  EXPECT_EQ(options.key_width(), 64);
  // Another block leaves nothing of it.
  ASSERT_EQ(builder.Set("block.name=attention_mlp"), absl::OkStatus());
  resolved = builder.Build();
  EXPECT_FALSE(resolved->config.block().has_options());
  EXPECT_EQ(resolved->provenance.count("block.options.key_width"), 0u);
}

TEST_F(ConfigBuilderTest, AFragmentMayChooseABlockAndItsOptions) {
  Write("presets/gated", R"(name: "gated" version: 1 method { key: "*/linear" value { block {
    name: "gated_attention"
    options { [type.googleapis.com/lra.GatedAttentionOptions] { key_width: 32 } } } } })");
  ConfigBuilder builder("listops");
  for (const absl::Status& status : {builder.AddProtocol("rules"), builder.AddPreset("gated"),
                                     builder.AddAttention("linear"), builder.AddPreset("tiny")})
    ASSERT_EQ(status, absl::OkStatus());
  const auto origin = builder.Build()->provenance;
  EXPECT_EQ(origin.at("block.name"), "preset gated, */linear");
  EXPECT_EQ(origin.at("block.options.key_width"), "preset gated, */linear");
  EXPECT_EQ(origin.at("block.options.expansion_factor"), "block gated_attention");
}

TEST_F(ConfigBuilderTest, AnUnknownBlockIsRefusedWithTheKnownOnes) {
  ConfigBuilder builder = Complete();
  EXPECT_EQ(builder.Set("block.name=gated_atention"),
            absl::InvalidArgumentError(
                "block.name=gated_atention: unknown block \"gated_atention\"; did you mean "
                "\"gated_attention\"? Known: attention_mlp, gated_attention"));
}

TEST_F(ConfigBuilderTest, FieldsThatABlockDoesNotReadMayStayUnset) {
  Write("presets/bare", R"(
    name: "bare" version: 1
    base { model { layers: 1 width: 8 qkv_width: 8 head_width: 4 } })");
  const auto build = [](const char* block) {
    ConfigBuilder builder("listops");
    EXPECT_EQ(builder.AddProtocol("rules"), absl::OkStatus());
    EXPECT_EQ(builder.AddPreset("bare"), absl::OkStatus());
    EXPECT_EQ(builder.AddAttention("none"), absl::OkStatus());
    EXPECT_EQ(builder.Set(absl::StrCat("block.name=", block)), absl::OkStatus());
    return builder.Build();
  };
  EXPECT_THAT(std::string(build("attention_mlp").status().message()),
              HasSubstr("unset: model.heads, model.mlp_width"));
  const auto gated = build("gated_attention");
  ASSERT_TRUE(gated.ok()) << gated.status();
}

// A protocol of a user that is older than the field.
TEST_F(ConfigBuilderTest, WhatNobodySetHasItsLegacyValue) {
  ConfigBuilder builder = Complete();
  const std::string with = Fingerprint(builder.Build()->config);
  std::string text = *ReadFile(folder_.File("protocols/rules.textproto"));
  text.erase(text.find("block {"), std::string("block { name: \"attention_mlp\" }").size());
  Write("protocols/rules", text);
  const auto resolved = Complete().Build();
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(resolved->provenance.at("block.name"), "default");
  EXPECT_EQ(Fingerprint(resolved->config), with);
}

TEST_F(ConfigBuilderTest, AnUnsetFieldIsNamed) {
  ConfigBuilder builder("listops");
  ASSERT_TRUE(builder.AddProtocol("rules").ok());
  ASSERT_TRUE(builder.AddAttention("linear").ok());
  EXPECT_EQ(
      builder.Build().status().message(),
      "unset: preset, model.layers, model.width, model.heads, model.qkv_width, model.mlp_width, "
      "model.head_width (protocol rules@3, preset none, task listops)");
  ConfigBuilder nameless("listops");
  EXPECT_EQ(nameless.Build().status().message(),
            "attention.name is unset: no attention was chosen");
}

TEST_F(ConfigBuilderTest, WarmupHasTwoSpellings) {
  Write("protocols/cold", R"(name: "cold" version: 1)");
  ConfigBuilder builder = Complete();
  ASSERT_TRUE(builder.Set("schedule.warmup_steps=10").ok());
  EXPECT_TRUE(builder.Build().ok());
  ConfigBuilder cold("listops");
  ASSERT_TRUE(cold.AddProtocol("cold").ok());
  ASSERT_TRUE(cold.AddAttention("linear").ok());
  EXPECT_THAT(std::string(cold.Build().status().message()),
              HasSubstr("schedule.warmup_steps or schedule.warmup_fraction"));
}

TEST_F(ConfigBuilderTest, ASearchNeedsARateForEachTrial) {
  EXPECT_THAT(BuildError({"search.learning_rate=1,2", "search.budget_trials=3",
                          "search.select=VALIDATION"}),
              HasSubstr("search.budget_trials = 3, but search.learning_rate has 2 values"));
  EXPECT_THAT(BuildError({"search.learning_rate=1,1", "search.budget_trials=2",
                          "search.select=VALIDATION"}),
              HasSubstr("search.learning_rate[1] = 1: must be above 0 and occur once"));
  EXPECT_THAT(BuildError({"search.learning_rate=1"}), HasSubstr("unset: search.budget_trials"));
}

TEST_F(ConfigBuilderTest, FieldsMustAgree) {
  EXPECT_EQ(BuildError({"model.heads=3"}), "model.heads = 3 does not divide model.qkv_width = 8");
  EXPECT_THAT(BuildError({"model.width=9", "model.heads=1"}), HasSubstr("model.width = 9 is odd"));
  ConfigBuilder learned = Complete();
  ASSERT_TRUE(learned.Set("model.width=9").ok());
  ASSERT_TRUE(learned.Set("model.heads=3").ok());
  ASSERT_TRUE(learned.Set("model.positions=learned").ok());
  EXPECT_TRUE(learned.Build().ok());
}

TEST_F(ConfigBuilderTest, BadRangesAreFoundWhereTheyStand) {
  ConfigBuilder builder = Complete();
  EXPECT_EQ(
      builder.AddOverrides(Parse<ExperimentConfig>("train { steps: 0 }"), "run file x").message(),
      "run file x: train.steps: 0 is out of range; valid is 1 to 100000000");
}

TEST_F(ConfigBuilderTest, TheVersionOfAProtocolMustMatch) {
  ConfigBuilder builder("listops");
  EXPECT_TRUE(builder.AddProtocol("rules@3").ok());
  const absl::Status status = builder.AddProtocol("rules@2");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "protocol \"rules@2\" is not here; there is rules@3");
}

TEST_F(ConfigBuilderTest, UnknownNamesGetTheNearest) {
  ConfigBuilder builder("listops");
  EXPECT_EQ(builder.AddProtocol("rulez").message(),
            "unknown protocol \"rulez\"; did you mean \"rules\"? Known: rules");
  EXPECT_EQ(builder.AddPreset("tini").message(),
            "unknown preset \"tini\"; did you mean \"tiny\"? Known: tiny");
  EXPECT_EQ(builder.AddAttention("lineer").message(),
            "unknown attention \"lineer\"; did you mean \"linear\"? Known: linear, transformer");
  EXPECT_EQ(builder.AddPreset("../protocols/rules").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LoadTaskFile("listops").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ConfigBuilderTest, ANameWithoutItsGroupIsAnsweredWithWhereFieldsAreListed) {
  ConfigBuilder builder = Complete();
  for (const char* set : {"lr=0.1", "batch_size=64", "learning_rate=0.1"}) {
    EXPECT_THAT(std::string(builder.Set(set).message()),
                EndsWith("`lra config` with the same flags lists every field"));
  }
  EXPECT_THAT(std::string(builder.Set("learning_rate=0.1").message()),
              HasSubstr("schedule.learning_rate? `lra config`"));
  EXPECT_THAT(std::string(builder.Set("train.stepz=1").message()), Not(HasSubstr("lra config")))
      << "all fields of the group are named";
}

TEST_F(ConfigBuilderTest, AFileMustBeNamedAsItCallsItself) {
  Write("presets/other", R"(name: "tiny" version: 1)");
  ConfigBuilder builder("listops");
  EXPECT_EQ(builder.AddPreset("other").message(),
            folder_.File("presets/other.textproto") +
                " calls itself \"tiny\", not \"other\" as the file is called; the two must agree");
}

TEST_F(ConfigBuilderTest, TheChoiceOfFragmentsIsLeftToTheFlags) {
  ConfigBuilder builder = Complete();
  EXPECT_EQ(builder.Set("task=text").message(),
            "task=text: is chosen by the flag --task, not by --set");
  EXPECT_THAT(std::string(builder.Set("attention.name=transformer").message()),
              HasSubstr("--attention"));
  EXPECT_FALSE(builder.Set("train.stepz=1").ok());
  for (const char* choice :
       {"task: \"text\"", "preset: \"x\"", "protocol: \"x\"", "attention { name: \"x\" }"}) {
    EXPECT_EQ(builder.AddOverrides(Parse<ExperimentConfig>(choice), "run file x").code(),
              absl::StatusCode::kInvalidArgument)
        << choice;
  }
}

}  // namespace
}  // namespace lra
