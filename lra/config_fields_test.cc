// Tests of the functions of lra/config.h that work on any message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eval/run_record.pb.h"
#include "lra/config.h"
#include "lra/textproto_test_util.h"
#include "models/attention/cosformer.pb.h"
#include "models/attention/linear.pb.h"
#include "models/attention/transformer.pb.h"

namespace lra {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

ExperimentConfig WithLinear() {
  return Parse<ExperimentConfig>(
      "attention { options { [type.googleapis.com/lra.LinearOptions] { epsilon: 1e-6 } } }");
}

std::string SetError(absl::string_view assignment) {
  ExperimentConfig config = WithLinear();
  const absl::Status status = SetField(&config, assignment);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << assignment;
  EXPECT_EQ(ToTextProto(config), ToTextProto(WithLinear())) << "a refused value changed something";
  return std::string(status.message());
}

// --- SetField ---

TEST(SetFieldTest, SetsEveryKindOfScalar) {
  ExperimentConfig config = WithLinear();
  for (const char* assignment :
       {"train.steps=100", "schedule.learning_rate=2e-3", "model.pooling=cls",
        "model.attention_bias=true", "seed=4294967295", " task = listops ",
        "attention.options.epsilon=1e-5"}) {
    ASSERT_EQ(SetField(&config, assignment), absl::OkStatus());
  }
  EXPECT_EQ(config.train().steps(), 100);
  EXPECT_EQ(config.schedule().learning_rate(), 2e-3f);
  EXPECT_EQ(config.model().pooling(), ModelConfig::CLS);
  EXPECT_TRUE(config.model().attention_bias());
  EXPECT_EQ(config.seed(), 4294967295u);
  EXPECT_EQ(config.task(), "listops");
  LinearOptions options;
  ASSERT_TRUE(config.attention().options().UnpackTo(&options));
  EXPECT_EQ(options.epsilon(), 1e-5);
}

TEST(SetFieldTest, ZeroIsSetNotUnset) {
  ExperimentConfig config;
  ASSERT_TRUE(SetField(&config, "model.dropout=0").ok());
  EXPECT_TRUE(config.model().has_dropout());
}

TEST(SetFieldTest, AnUnknownFieldGetsTheNearest) {
  EXPECT_EQ(SetError("train.stepz=3"),
            "train.stepz=3: unknown field \"stepz\"; did you mean \"steps\"? Known: steps, "
            "batch_examples, eval_every_steps, log_every_steps, validation_examples, "
            "bucket_window_batches, shuffle, drop_last, early_stop_evaluations, "
            "last_batch");
  EXPECT_THAT(SetError("trian.steps=3"), HasSubstr("did you mean \"train\"?"));
  EXPECT_THAT(SetError("attention.options.epsilo=3"), HasSubstr("did you mean \"epsilon\"?"));
  EXPECT_THAT(SetError("learning_rate=3"),
              HasSubstr("Did you mean pretrain.learning_rate or schedule.learning_rate?"));
  EXPECT_THAT(SetError("learning_rat=3"),
              HasSubstr("Did you mean pretrain.learning_rate or schedule.learning_rate?"));
  EXPECT_THAT(SetError("lr=3"), Not(HasSubstr("id you mean")));
  EXPECT_THAT(SetError("epsilon=3"),
              HasSubstr("Did you mean attention.options.epsilon or optimizer.epsilon?"));
  EXPECT_THAT(SetError(".steps=3"), HasSubstr("unknown field \"\""));
}

TEST(SetFieldTest, AWrongTypeIsRefused) {
  EXPECT_EQ(SetError("train.steps=many"),
            "train.steps=many: \"many\" is not a whole number from 1 to 100000000");
  EXPECT_THAT(SetError("train.steps=1.5"), HasSubstr("not a whole number"));
  EXPECT_THAT(SetError("train.steps=99999999999"), HasSubstr("not a whole number"));
  EXPECT_THAT(SetError("train.steps="), HasSubstr("not a whole number"));
  EXPECT_THAT(SetError("seed=-1"), HasSubstr("from 0 to 4294967295"));
  EXPECT_THAT(SetError("model.dropout=some"),
              HasSubstr("\"some\" is not a finite number from 0 to 0.95"));
  EXPECT_THAT(SetError("model.dropout=nan"), HasSubstr("not a finite number"));
  EXPECT_THAT(SetError("attention.options.epsilon=inf"), HasSubstr("not a finite number"));
  EXPECT_THAT(SetError("model.attention_bias=maybe"), HasSubstr("not true or false"));
  EXPECT_THAT(SetError("model.pooling=MIN"),
              HasSubstr("unknown value \"MIN\"; did you mean \"MEAN\"? Known: MEAN, CLS"));
  EXPECT_THAT(SetError("model.pooling=POOLING_UNSPECIFIED"), HasSubstr("Known: MEAN, CLS"));
}

TEST(SetFieldTest, AValueOutOfRangeIsRefused) {
  EXPECT_EQ(SetError("train.steps=0"),
            "train.steps=0: steps: 0 is out of range; valid is 1 to 100000000");
  EXPECT_THAT(SetError("model.dropout=0.96"),
              HasSubstr("0.96 is out of range; valid is 0 to 0.95"));
  EXPECT_THAT(SetError("attention.options.epsilon=-1"), HasSubstr("valid is 0 to 1"));
}

TEST(SetFieldTest, BoundsThemselvesAreValidEvenWhereTheyAreNoFloats) {
  ExperimentConfig config;
  EXPECT_TRUE(SetField(&config, "model.dropout=0.95").ok());
  EXPECT_TRUE(SetField(&config, "model.norm_epsilon=1e-12").ok());
  EXPECT_TRUE(SetField(&config, "optimizer.beta1=0.999999").ok());
  EXPECT_TRUE(CheckRanges(config).ok());
}

TEST(SetFieldTest, PathsMustEndInAValue) {
  EXPECT_THAT(SetError("train=3"), HasSubstr("\"train\" is a group of fields; set one of steps, "));
  EXPECT_THAT(SetError("attention.options=3"), HasSubstr("set one of epsilon"));
  EXPECT_THAT(SetError("train.steps.more=3"),
              HasSubstr("\"steps\" is a value and has no field \"more\""));
  EXPECT_THAT(SetError("train.steps"), HasSubstr("is not FIELD=VALUE"));
}

TEST(SetFieldTest, OptionsOfNothingAreRefused) {
  ExperimentConfig config;
  const absl::Status status = SetField(&config, "attention.options.epsilon=1");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"options\" is unset"));
  EXPECT_EQ(config.ByteSizeLong(), 0u);
}

TEST(SetFieldTest, CommasMakeAListWhichReplacesTheOldOne) {
  ExperimentConfig config;
  config.mutable_search()->add_learning_rate(7);
  ASSERT_EQ(SetField(&config, "search.learning_rate=1e-3, 3e-3"), absl::OkStatus());
  EXPECT_THAT(config.search().learning_rate(), testing::ElementsAre(1e-3f, 3e-3f));
  EXPECT_THAT(std::string(SetField(&config, "search.learning_rate=1,,2").message()),
              HasSubstr("\"\" is not a finite number"));
  EXPECT_EQ(config.search().learning_rate_size(), 2) << "a refused assignment changes nothing";
  RunFile run;
  ASSERT_EQ(SetField(&run, "attention=linear,relu"), absl::OkStatus());
  EXPECT_THAT(run.attention(), testing::ElementsAre("linear", "relu"));
  EXPECT_THAT(std::string(SetField(&run, "attention=linear,").message()),
              HasSubstr("\"\" is not an element of a list"));
  ASSERT_EQ(SetField(&run, "attention="), absl::OkStatus());
  EXPECT_THAT(run.attention(), testing::IsEmpty());
  ASSERT_EQ(SetField(&config, "search.learning_rate="), absl::OkStatus());
  EXPECT_THAT(config.search().learning_rate(), testing::IsEmpty());
}

TEST(SetFieldTest, MapsAreForFiles) {
  ConfigFragment fragment;
  EXPECT_THAT(std::string(SetField(&fragment, "task.listops=1").message()),
              HasSubstr("\"task\" is a map, which only a file can set"));
}

// --- CheckRanges, MergeConfig, LeafFields, UnsetFields ---

TEST(CheckRangesTest, NamesThePath) {
  EXPECT_EQ(CheckRanges(Parse<ExperimentConfig>("train { steps: -4 }")).message(),
            "train.steps: -4 is out of range; valid is 1 to 100000000");
  EXPECT_EQ(CheckRanges(Parse<ExperimentConfig>("schedule { learning_rate: nan }")).message(),
            "schedule.learning_rate: nan is out of range; valid is 0 to 1000");
  ExperimentConfig config = WithLinear();
  LinearOptions options;
  options.set_epsilon(7);
  config.mutable_attention()->mutable_options()->PackFrom(options);
  EXPECT_EQ(CheckRanges(config).message(),
            "attention.options.epsilon: 7 is out of range; valid is 0 to 1");
  ConfigFragment fragment;
  (*fragment.mutable_task())["listops"].mutable_model()->set_layers(0);
  EXPECT_THAT(std::string(CheckRanges(fragment).message()),
              HasSubstr("task[listops].value.model.layers: 0"));
}

TEST(CheckRangesTest, UnspecifiedAndUnknownEnumValuesAreRefused) {
  EXPECT_FALSE(CheckRanges(Parse<ExperimentConfig>("model { pooling: POOLING_UNSPECIFIED }")).ok());
  EXPECT_FALSE(CheckRanges(Parse<ExperimentConfig>("model { pooling: 17 }")).ok());
  EXPECT_TRUE(CheckRanges(Parse<ExperimentConfig>("model { pooling: CLS }")).ok());
}

TEST(CheckRangesTest, AnAnyMustBeReadable) {
  ExperimentConfig config = WithLinear();
  config.mutable_attention()->mutable_options()->set_value("\xff");
  EXPECT_THAT(std::string(CheckRanges(config).message()), HasSubstr("attention.options"));
  config.mutable_attention()->mutable_options()->set_type_url("type.googleapis.com/lra.None");
  EXPECT_FALSE(CheckRanges(config).ok());
}

TEST(MergeConfigTest, LaterFieldsWinAndOthersStay) {
  ExperimentConfig config = Parse<ExperimentConfig>("train { steps: 5 batch_examples: 3 } seed: 1");
  MergeConfig(Parse<ExperimentConfig>("train { steps: 0 } model { layers: 1 }"), &config);
  EXPECT_EQ(ToTextProto(config),
            ToTextProto(Parse<ExperimentConfig>(
                "train { steps: 0 batch_examples: 3 } model { layers: 1 } seed: 1")));
}

TEST(MergeConfigTest, AnAnyOfTheSameTypeIsMergedFieldByField) {
  AttentionConfig config = Parse<AttentionConfig>(
      "options { [type.googleapis.com/lra.CosformerOptions] { scale: FIXED epsilon: 0.5 } }");
  const AttentionConfig before = config;
  MergeConfig(Parse<AttentionConfig>(
                  "options { [type.googleapis.com/lra.CosformerOptions] { epsilon: 0.25 } }"),
              &config);
  CosformerOptions options;
  ASSERT_TRUE(config.options().UnpackTo(&options));
  EXPECT_EQ(options.scale(), CosformerOptions::FIXED);
  EXPECT_EQ(options.epsilon(), 0.25);
  config = before;
  MergeConfig(Parse<AttentionConfig>("options { [type.googleapis.com/lra.CosformerOptions] {} }"),
              &config);
  EXPECT_EQ(ToTextProto(config), ToTextProto(before));
}

TEST(MergeConfigTest, AnAnyOfAnotherTypeReplaces) {
  ExperimentConfig config = WithLinear();
  ExperimentConfig other;
  other.mutable_attention()->mutable_options()->PackFrom(TransformerOptions());
  MergeConfig(other, &config);
  EXPECT_EQ(ToTextProto(config), ToTextProto(other));  // no bytes of the old options are left
}

TEST(LeafFieldsTest, ListsSetScalarsInOrderWithShortestNumbers) {
  ExperimentConfig config = Parse<ExperimentConfig>(
      "seed: 3 schedule { learning_rate: 0.0005 kind: COSINE } model { dropout: 0.1 }");
  MergeConfig(WithLinear(), &config);
  EXPECT_THAT(
      LeafFields(config),
      ElementsAre(Pair("model.dropout", "0.1"), Pair("attention.options", "lra.LinearOptions"),
                  Pair("attention.options.epsilon", "1e-06"), Pair("schedule.kind", "COSINE"),
                  Pair("schedule.learning_rate", "0.0005"), Pair("seed", "3")));
}

TEST(LeafFieldsTest, ListsElementsOfListsAndMapsAndSkipsVolatileFields) {
  const RunRecord record = Parse<RunRecord>(
      "curve { step: 1 } curve { step: 2 } provenance { key: \"b\" value: \"x\" } "
      "provenance { key: \"a\" value: \"y\" } machine { cores: 4 } spec { token_names: \"p\" }");
  EXPECT_THAT(LeafFields(record),
              ElementsAre(Pair("spec.token_names[0]", "p"), Pair("curve[0].step", "1"),
                          Pair("curve[1].step", "2"), Pair("provenance[a].key", "a"),
                          Pair("provenance[a].value", "y"), Pair("provenance[b].key", "b"),
                          Pair("provenance[b].value", "x")));
}

TEST(UnsetFieldsTest, LooksIntoUnsetMessagesAndPackedOnes) {
  EXPECT_THAT(UnsetFields(EvaluationConfig()),
              ElementsAre("selection", "step", "drop_last", "scored_examples", "batch_statistics"));
  ExperimentConfig config;
  EXPECT_THAT(UnsetFields(config), Contains("train.steps"));
  EXPECT_THAT(UnsetFields(config), Contains("attention.options"));
  config.mutable_train()->set_steps(0);
  config.mutable_attention()->mutable_options()->PackFrom(CosformerOptions());
  EXPECT_THAT(UnsetFields(config), Not(Contains("train.steps")));
  EXPECT_THAT(UnsetFields(config), Not(Contains("attention.options")));
  EXPECT_THAT(UnsetFields(config), Contains("attention.options.scale"));
}

}  // namespace
}  // namespace lra
