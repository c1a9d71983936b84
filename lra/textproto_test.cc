#include "lra/textproto.h"

#include <gmock/gmock.h>
#include <google/protobuf/any.pb.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lra/config.pb.h"
#include "lra/folder_test_util.h"
#include "models/attention/linear.pb.h"

namespace lra {
namespace {

using testing::HasSubstr;

std::string ParseError(absl::string_view text) {
  ExperimentConfig config;
  const absl::Status status = ParseTextProto(text, "run.textproto", &config);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(status.message());
}

TEST(TextProtoTest, ErrorsNamePlaceAndNearestField) {
  EXPECT_EQ(
      ParseError("train {\n  stepz: 3\n}"),
      "run.textproto:2:8: Message type \"lra.TrainConfig\" has no field named \"stepz\". Did you "
      "mean \"steps\"? Known: steps, batch_examples, eval_every_steps, log_every_steps, "
      "validation_examples, bucket_window_batches, shuffle, drop_last, early_stop_evaluations, "
      "last_batch");
  EXPECT_THAT(ParseError("weather: 3"), HasSubstr("run.textproto:1:8: "));
  EXPECT_THAT(ParseError("train {\n  steps: \"many\"\n}"), HasSubstr("run.textproto:2:10: "));
  EXPECT_THAT(ParseError("model { pooling: MEEN }"),
              HasSubstr("\"MEEN\" for field \"pooling\". Known: MEAN, CLS"));
  EXPECT_THAT(ParseError("train {"), HasSubstr("run.textproto:1:8: "));
}

TEST(TextProtoTest, AnIsPackedByItsTypeAndExpandedAgain) {
  AttentionConfig config;
  ASSERT_TRUE(
      ParseTextProto("options { [type.googleapis.com/lra.LinearOptions] { epsilon: 0.25 } }", "x",
                     &config)
          .ok());
  LinearOptions options;
  ASSERT_TRUE(config.options().UnpackTo(&options));
  EXPECT_EQ(options.epsilon(), 0.25);
  EXPECT_EQ(ToTextProto(config),
            "options {\n  [type.googleapis.com/lra.LinearOptions] {\n    epsilon: 0.25\n  }\n}\n");
  const absl::Status unknown =
      ParseTextProto("options { [type.googleapis.com/lra.None] {} }", "x", &config);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("lra.None"));
  EXPECT_THAT(
      std::string(unknown.message()),
      HasSubstr("This program has no such message: correct the name or, if its .proto is new, "
                "build again"));
}

TEST(TextProtoTest, MapsAreSortedInBothForms) {
  ConfigFragment forward, backward;
  for (int i = 0; i < 20; ++i) {
    (*forward.mutable_task())[std::to_string(i)].set_seed(i);
    (*backward.mutable_task())[std::to_string(19 - i)].set_seed(19 - i);
  }
  EXPECT_EQ(ToTextProto(forward), ToTextProto(backward));
  EXPECT_EQ(ToJson(forward), ToJson(backward));
  EXPECT_LT(ToJson(forward).find("\"10\""), ToJson(forward).find("\"2\""));
}

TEST(TextProtoTest, JsonKeepsFieldNamesAndExpandsAny) {
  ExperimentConfig config;
  config.mutable_train()->set_log_every_steps(7);
  LinearOptions options;
  options.set_epsilon(0.5);
  config.mutable_attention()->mutable_options()->PackFrom(options);
  const std::string json = absl::StrReplaceAll(ToJson(config), {{" ", ""}, {"\n", ""}});
  EXPECT_EQ(json,
            "{\"attention\":{\"options\":{\"@type\":\"type.googleapis.com/lra.LinearOptions\","
            "\"epsilon\":0.5}},\"train\":{\"log_every_steps\":7}}");
}

TEST(SealTest, RoundTrip) {
  const TestFolder folder;
  TrainConfig train, read;
  train.set_steps(12);
  ASSERT_TRUE(WriteSealedTextProto(folder.File("m"), train).ok());
  const std::string text = *ReadFile(folder.File("m"));
  EXPECT_EQ(text, "steps: 12\n# sha256: " + Sha256Hex("steps: 12\n") + "\n");
  ASSERT_TRUE(ReadSealedTextProto(folder.File("m"), &read).ok());
  EXPECT_EQ(read.steps(), 12);
}

TEST(SealTest, EveryFlippedByteAndEveryCutIsSeen) {
  const TestFolder folder;
  TrainConfig train;
  train.set_steps(12);
  ASSERT_TRUE(WriteSealedTextProto(folder.File("m"), train).ok());
  const std::string text = *ReadFile(folder.File("m"));
  for (size_t i = 0; i < text.size(); ++i) {
    std::string flipped = text;
    flipped[i] ^= 1;
    ASSERT_TRUE(WriteFileAtomically(folder.File("f"), flipped).ok());
    const absl::Status status = ReadSealedTextProto(folder.File("f"), &train);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << "byte " << i;
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder.File("f")));
    ASSERT_TRUE(WriteFileAtomically(folder.File("f"), text.substr(0, i)).ok());
    EXPECT_EQ(ReadSealedTextProto(folder.File("f"), &train).code(), absl::StatusCode::kDataLoss)
        << "cut at " << i;
  }
}

TEST(SealTest, AMissingFileIsNotFound) {
  const TestFolder folder;
  TrainConfig train;
  EXPECT_EQ(ReadSealedTextProto(folder.File("none"), &train).code(), absl::StatusCode::kNotFound);
}

// An Any inside an Any inside ..., as text.
std::string NestedAnys(int depth) {
  std::string text = "attention { options { ";
  for (int i = 0; i < depth; ++i) text += "[type.googleapis.com/google.protobuf.Any] { ";
  for (int i = 0; i < depth + 2; ++i) text += "} ";
  return text;
}

TEST(TextProtoTest, DeepNestingIsRefusedByPlace) {
  ExperimentConfig config;
  EXPECT_TRUE(ParseTextProto(NestedAnys(20), "run.textproto", &config).ok());
  for (const int depth : {100, 200'000}) {
    EXPECT_EQ(ParseError("# {{{ \"\n" + NestedAnys(depth)),
              "run.textproto:2: messages are nested more than 50 deep");
  }
  EXPECT_THAT(ParseError(std::string(200'000, '<')), HasSubstr("nested more than 50 deep"));
}

TEST(TextProtoTest, BracesInStringsAndCommentsDoNotNest) {
  ExperimentConfig config;
  const std::string braces(200, '{');
  const absl::Status status = ParseTextProto(
      "# " + braces + "\ntask: \"" + braces + "\\\"\" protocol: '" + braces + "'", "x", &config);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(config.task(), braces + "\"");
}

// The bytes of an Any hold no braces, and would be unpacked without end by whoever walks them.
TEST(TextProtoTest, DeepNestingInBytesIsRefused) {
  google::protobuf::Any any;
  for (int i = 0; i < 60; ++i) {
    google::protobuf::Any outer;
    outer.PackFrom(any);
    any = outer;
  }
  ExperimentConfig config;
  const std::string text = absl::StrCat(
      "attention { options { type_url: \"type.googleapis.com/google.protobuf.Any\" value: \"",
      absl::CEscape(any.value()), "\" } }");
  const absl::Status status = ParseTextProto(text, "run.textproto", &config);
  EXPECT_EQ(status.message(), "run.textproto: messages are nested more than 50 deep");
}

// Editors put a mark in front.
TEST(ReadTextProto, TakesAByteOrderMarkAndNamesUtf16) {
  const TestFolder folder;
  const std::string path = folder.File("run.textproto");
  ModelConfig model;
  ASSERT_TRUE(WriteFileAtomically(path, "\xef\xbb\xbflayers: 3\n").ok());
  ASSERT_EQ(ReadTextProto(path, &model), absl::OkStatus());
  EXPECT_EQ(model.layers(), 3);
  const std::string wide = {'\xff', '\xfe', 'l', '\0'};
  ASSERT_TRUE(WriteFileAtomically(path, wide).ok());
  EXPECT_EQ(std::string(ReadTextProto(path, &model).message()),
            absl::StrCat(path, ": is UTF-16; save it as UTF-8"));
}

}  // namespace
}  // namespace lra
