// That options have effects must be able to fail: a factory that never reads one.
#include "models/conformance/option_effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/attention/performer.pb.h"
#include "models/interface/options.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

absl::StatusOr<std::unique_ptr<Attention>> Make(const AttentionContext& context) {
  return AttentionRegistry::Get().Create("attention", "performer", context);
}

// Few features, which are soon drawn.
google::protobuf::Any SmallOptions() {
  PerformerOptions options;
  EXPECT_TRUE(LoadAttentionOptions("performer").value().UnpackTo(&options));
  options.set_features(8);
  google::protobuf::Any any;
  any.PackFrom(options);
  return any;
}

// What has no effect on Performer when it is made of `change`d options.
std::vector<std::string> Idle(const std::function<void(PerformerOptions*)>& change) {
  const AttentionMaker maker = [&](const AttentionContext& context) {
    PerformerOptions options;
    EXPECT_TRUE(context.options.UnpackTo(&options));
    change(&options);
    AttentionContext changed = context;
    changed.options.PackFrom(options);
    return Make(changed);
  };
  std::vector<std::string> details;
  const auto results = internal::CheckOptionEffects("performer", maker, SmallOptions());
  EXPECT_EQ(results.size(), 5);
  for (const ConformanceResult& result : results) {
    EXPECT_EQ(result.id, "O");
    if (!result.passed) details.push_back(result.detail);
  }
  return details;
}

// Its relu_floor is read under one kernel alone, which is not the one of its file.
TEST(OptionEffectsTest, WhatIsReadUnderAnotherChoiceHasAnEffect) {
  EXPECT_THAT(Idle([](PerformerOptions*) {}), IsEmpty());
}

TEST(OptionEffectsTest, WhatIsNeverReadIsFound) {
  EXPECT_THAT(
      Idle([](PerformerOptions* options) { options->set_relu_floor(0.5); }),
      ElementsAre("attention.options.relu_floor: has no effect; tried 0.0005, 0.002, 1e-09, "
                  "1"));
  EXPECT_THAT(Idle([](PerformerOptions* options) { options->set_is_orthogonal(false); }),
              ElementsAre("attention.options.is_orthogonal: has no effect; tried false"));
  EXPECT_THAT(Idle([](PerformerOptions* options) { options->set_features(16); }),
              ElementsAre(StartsWith("attention.options.features: has no effect; tried 4, 16")));
}

// One that only says what another must be.
TEST(OptionEffectsTest, ARefusalIsAnEffect) {
  const AttentionMaker maker = [](const AttentionContext& context) {
    PerformerOptions options;
    EXPECT_TRUE(context.options.UnpackTo(&options));
    const bool is_taken = options.is_orthogonal() || options.features() == 8;
    options.set_is_orthogonal(true);
    AttentionContext changed = context;
    changed.options.PackFrom(options);
    return is_taken ? Make(changed) : absl::InvalidArgumentError("features: must be 8");
  };
  for (const ConformanceResult& result :
       internal::CheckOptionEffects("performer", maker, SmallOptions()))
    EXPECT_TRUE(result.passed) << result.detail;
}

}  // namespace
}  // namespace lra
