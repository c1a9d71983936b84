#include "lra/plugin_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "models/attention/cosformer.pb.h"
#include "models/attention/linear.pb.h"
#include "models/attention/transformer.pb.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::HasSubstr;

google::protobuf::Any Packed(const google::protobuf::Message& options) {
  google::protobuf::Any any;
  any.PackFrom(options);
  return any;
}

CosformerOptions Complete() {
  CosformerOptions options;
  options.set_scale(CosformerOptions::FIXED);
  options.set_scale_tokens(0);
  options.set_epsilon(1e-6);
  return options;
}

std::string ErrorOf(const google::protobuf::Any& any) {
  const absl::Status status =
      UnpackOptions<CosformerOptions>("attention", "cosformer", any).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(UnpackOptionsTest, GivesWhatIsComplete) {
  const auto options =
      UnpackOptions<CosformerOptions>("attention", "cosformer", Packed(Complete()));
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->scale(), CosformerOptions::FIXED);
  EXPECT_EQ(options->scale_tokens(), 0);
  EXPECT_EQ(options->epsilon(), 1e-6);
}

TEST(UnpackOptionsTest, WhatIsUnsetIsNamedWithTheFileThatSetsIt) {
  CosformerOptions options = Complete();
  options.clear_scale_tokens();
  EXPECT_EQ(ErrorOf(Packed(options)),
            "attention.options: not set: scale_tokens; attention cosformer takes every option from "
            "configs/attentions/cosformer.textproto");
  EXPECT_THAT(ErrorOf(google::protobuf::Any()), HasSubstr("not set: scale, scale_tokens, epsilon"));
}

// An Any that somebody built by hand is held to the proto's range, too; there is no other.
TEST(UnpackOptionsTest, WhatIsOutOfRangeIsRefused) {
  CosformerOptions options = Complete();
  options.set_scale_tokens(-1);
  EXPECT_EQ(ErrorOf(Packed(options)),
            "attention.options.scale_tokens: -1 is out of range; valid is 0 to 1048576");
  options = Complete();
  options.set_epsilon(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(ErrorOf(Packed(options)), HasSubstr("attention.options.epsilon: nan is out of"));
  options = Complete();
  options.set_scale(CosformerOptions::SCALE_UNSPECIFIED);
  EXPECT_THAT(ErrorOf(Packed(options)), HasSubstr("attention.options.scale"));
  options.set_scale(static_cast<CosformerOptions::Scale>(7));
  EXPECT_THAT(ErrorOf(Packed(options)), HasSubstr("attention.options.scale"));
}

TEST(UnpackOptionsTest, AnotherMessageAndDamagedBytesAreRefused) {
  EXPECT_THAT(ErrorOf(Packed(LinearOptions())),
              AllOf(HasSubstr("lra.LinearOptions"),
                    HasSubstr("attention cosformer takes lra.CosformerOptions")));
  google::protobuf::Any any = Packed(Complete());
  any.set_value("\x08");  // a field without its value
  EXPECT_THAT(ErrorOf(any), HasSubstr("not a valid lra.CosformerOptions"));
  any.set_type_url("no slash");
  EXPECT_THAT(ErrorOf(any), HasSubstr("holds \"no slash\""));
}

TEST(UnpackOptionsTest, AMessageWithoutFieldsIsComplete) {
  EXPECT_TRUE(
      UnpackOptions<TransformerOptions>("attention", "transformer", google::protobuf::Any()).ok());
}

}  // namespace
}  // namespace lra
