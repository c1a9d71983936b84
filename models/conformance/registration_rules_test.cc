#include "models/conformance/registration_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lra/config_folder_test_util.h"
#include "models/interface/options.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Traits CompleteTraits() {
  Traits traits;
  traits.label = "Mine";
  traits.summary = "one line";
  traits.source = "a paper";
  traits.time_order = "N D";
  traits.memory_order = "N";
  traits.causality = Causality::kOptional;
  return traits;
}

TEST(CheckWordsTest, TextsAreThereAndAReasonWhereThereIsNoChoice) {
  Traits traits = CompleteTraits();
  EXPECT_TRUE(internal::CheckWords("mine", traits).passed);
  traits.summary = "";
  traits.memory_order = "";
  ConformanceResult result = internal::CheckWords("mine", traits);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.id, "S");
  EXPECT_EQ(result.detail, "traits.summary is empty; traits.memory_order is empty");
  for (const Causality causality : {Causality::kNever, Causality::kAlways}) {
    traits = CompleteTraits();
    traits.causality = causality;
    EXPECT_THAT(internal::CheckWords("mine", traits).detail, HasSubstr("causal_reason is empty"));
    traits.causal_reason = "it looks ahead";
    EXPECT_TRUE(internal::CheckWords("mine", traits).passed);
  }
  traits.causality = Causality::kOptional;
  EXPECT_THAT(internal::CheckWords("mine", traits).detail, HasSubstr("causal_reason is given"));
}

// The transformer's file leaves its weights to protocols, some of which drop them; that of `linear`
// does not.
TEST(CheckDropoutTest, WhatAProtocolDropsMustBeThere) {
  Traits traits = CompleteTraits();
  const ConformanceResult result = internal::CheckDropout("transformer", traits);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.id, "C");
  EXPECT_THAT(result.detail, AllOf(HasSubstr("protocol nystrom drops weights"),
                                   HasSubstr("configs/attentions/transformer.textproto")));
  EXPECT_TRUE(internal::CheckDropout("linear", traits).passed);
  traits.supports_weight_dropout = true;
  EXPECT_TRUE(internal::CheckDropout("transformer", traits).passed);
  const ConformanceResult unknown = internal::CheckDropout("nobody", traits);
  EXPECT_FALSE(unknown.passed);
  EXPECT_THAT(unknown.detail, HasSubstr("unknown attention \"nobody\""));
}

using CheckDropoutOfFolderTest = ConfigFolderTest;

TEST_F(CheckDropoutOfFolderTest, AProtocolThatCannotBeReadIsNotPassedOver) {
  Write("attentions/mine", R"(attention { name: "mine" })");
  Write("protocols/good", R"(name: "good" version: 1 task { key: "listops" value {} })");
  Write("protocols/other", R"(
    name: "other" version: 1 base { attention { dropout: 0.5 } } task { key: "mine" value {} })");
  EXPECT_TRUE(internal::CheckDropout("mine", CompleteTraits()).passed);
  Write("protocols/broken", "no_such_field: 1");
  const ConformanceResult result = internal::CheckDropout("mine", CompleteTraits());
  EXPECT_FALSE(result.passed || result.was_compared);
  EXPECT_THAT(result.detail, HasSubstr("broken.textproto"));
}

std::vector<std::string> IdsOf(const absl::StatusOr<std::vector<ConformanceResult>>& results) {
  std::vector<std::string> ids;
  if (!results.ok()) return ids;
  for (const ConformanceResult& result : *results) ids.push_back(result.id);
  return ids;
}

TEST(CheckRegistrationTest, IsPartOfTheCheckOfARegisteredAttention) {
  const google::protobuf::Any options = LoadAttentionOptions("relu").value();
  EXPECT_THAT(IdsOf(CheckAttention("relu", options)), AllOf(Contains("S"), Contains("C")));
  EXPECT_THAT(IdsOf(CheckAttention("relu", options, {.types = {at::kBFloat16}})),
              Not(Contains("S")));
}

}  // namespace
}  // namespace lra
