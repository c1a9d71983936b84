// Promise E must be able to fail: factories that never read an option, or only check its values.
#include "models/conformance/option_effects.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/attention/nystromformer.pb.h"
#include "models/attention/performer.pb.h"
#include "models/attention/rfa.pb.h"
#include "models/attention/sparse.pb.h"
#include "models/interface/options.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using Made = absl::StatusOr<std::unique_ptr<Attention>>;

// What of the attention's options has no effect, where `make` is its factory.
std::vector<std::string> Idle(const std::string& name, const std::vector<std::string>& sets,
                              const AttentionMaker& make) {
  std::vector<std::string> details;
  const auto results =
      internal::CheckOptionEffects(name, make, LoadAttentionOptions(name, sets).value());
  EXPECT_FALSE(results.empty());
  for (const ConformanceResult& result : results) {
    EXPECT_EQ(result.id, "E");
    if (!result.passed) details.push_back(result.detail);
  }
  return details;
}

Made Make(const std::string& name, const AttentionContext& context) {
  return AttentionRegistry::Get().Create("attention", name, context);
}

// A factory that takes what the attention's own takes, and makes it of `change`d options.
template <class Options>
AttentionMaker Changed(const std::string& name, const std::function<void(Options*)>& change) {
  return [=](const AttentionContext& context) -> Made {
    ParameterStore unused(1);
    AttentionContext changed = context;
    changed.parameters = &unused;
    if (const Made own = Make(name, changed); !own.ok()) return own.status();
    Options options;
    EXPECT_TRUE(context.options.UnpackTo(&options));
    change(&options);
    changed.parameters = context.parameters;
    changed.options.PackFrom(options);
    return Make(name, changed);
  };
}

// With few features, which are soon drawn.
std::vector<std::string> IdleOfPerformer(const std::function<void(PerformerOptions*)>& change) {
  return Idle("performer", {"features=8"}, Changed<PerformerOptions>("performer", change));
}

// Its relu_floor is read under one kernel alone, which is not the one of its file.
TEST(OptionEffectsTest, WhatIsReadUnderAnotherChoiceHasAnEffect) {
  EXPECT_THAT(IdleOfPerformer([](PerformerOptions*) {}), IsEmpty());
}

TEST(OptionEffectsTest, WhatIsNeverReadIsFound) {
  EXPECT_THAT(
      IdleOfPerformer([](PerformerOptions* options) { options->set_relu_floor(0.5); }),
      ElementsAre("attention.options.relu_floor: has no effect, alone or beside two other options, "
                  "on 64 and 1280 tokens (tried 0.0005, 0.002, 1e-09, 1): read it, or take it out "
                  "of the options"));
  EXPECT_THAT(IdleOfPerformer([](PerformerOptions* options) { options->set_is_orthogonal(false); }),
              ElementsAre(StartsWith("attention.options.is_orthogonal: has no effect")));
  EXPECT_THAT(IdleOfPerformer([](PerformerOptions* options) { options->set_features(16); }),
              ElementsAre(HasSubstr("features: has no effect")));
  EXPECT_THAT(
      Idle("rfa", {"features=4"},
           Changed<RfaOptions>(
               "rfa", [](RfaOptions* options) { options->set_kernel(RfaOptions::GAUSSIAN); })),
      ElementsAre(HasSubstr("kernel: has no effect")));
}

// A number and a switch that the factory holds to their values, and then forgets.
TEST(OptionEffectsTest, ARefusalIsNoEffect) {
  EXPECT_THAT(Idle("nystromformer", {"landmarks=4"},
                   Changed<NystromformerOptions>(
                       "nystromformer",
                       [](NystromformerOptions* options) { options->set_convolution_tokens(3); })),
              ElementsAre(HasSubstr("convolution_tokens: has no effect")));
  EXPECT_THAT(
      Idle("sparse", {},
           Changed<SparseOptions>(
               "sparse", [](SparseOptions* options) { options->set_opens_first_token(false); })),
      ElementsAre(HasSubstr("opens_first_token: has no effect")));
}

// Synthesizer's LRA2020 names one of its modes, and BigBird's draws from the first 1,024 tokens.
TEST(OptionEffectsTest, AChoiceMayBeANameAndALengthMayHaveToBeLong) {
  for (const std::string name : {"synthesizer", "bigbird"}) {
    EXPECT_THAT(
        Idle(name, {}, [&](const AttentionContext& context) { return Make(name, context); }),
        IsEmpty());
  }
}

TEST(OptionEffectsTest, WhatCannotBeTriedIsFound) {
  const AttentionMaker maker = [](const AttentionContext& context) -> Made {
    PerformerOptions options;
    EXPECT_TRUE(context.options.UnpackTo(&options));
    if (options.features() == 8) return Make("performer", context);
    throw std::runtime_error("another number of features");
  };
  EXPECT_THAT(Idle("performer", {"features=8"}, maker),
              ElementsAre(HasSubstr("features: no two values can be had, alone")));
}

// Such as a mask that an attention owns.
TEST(OptionEffectsTest, WhatIsNotFiniteIsNoEffect) {
  const AttentionMaker maker = [](const AttentionContext& context) {
    context.parameters->AdoptBuffer("mask", at::full({2}, -std::numeric_limits<float>::infinity()));
    context.parameters->AdoptBuffer("hole", at::full({2}, std::numeric_limits<float>::quiet_NaN()));
    PerformerOptions options;
    EXPECT_TRUE(context.options.UnpackTo(&options));
    options.set_is_orthogonal(true);
    AttentionContext changed = context;
    changed.options.PackFrom(options);
    return Make("performer", changed);
  };
  EXPECT_THAT(Idle("performer", {"features=8"}, maker),
              ElementsAre(HasSubstr("is_orthogonal: has no effect")));
}

// Whether E is tried of linear attention.
bool IsTried(const std::vector<std::string>& sets, const CheckSetting& setting) {
  const auto results =
      CheckAttention("linear", LoadAttentionOptions("linear", sets).value(), setting);
  EXPECT_TRUE(results.ok());
  return std::any_of(results->begin(), results->end(),
                     [](const ConformanceResult& result) { return result.id == "E"; });
}

TEST(OptionEffectsTest, IsPartOfTheCheckOfTheOptionsOfItsFile) {
  EXPECT_TRUE(IsTried({}, {}));
  EXPECT_FALSE(IsTried({"epsilon=0.5"}, {}));
  EXPECT_FALSE(IsTried({}, {.types = {at::kBFloat16}}));
}

}  // namespace
}  // namespace lra
