#include "models/conformance/conformance.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "models/base/kernel_path.h"
#include "models/conformance/conformance_test_util.h"
#include "models/interface/options.h"

namespace lra {
namespace {

// The options of its config file: what users run.
google::protobuf::Any OptionsOf(const std::string& attention) {
  const auto options = LoadAttentionOptions(attention);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.value_or(google::protobuf::Any());
}

class RegisteredAttentionTest : public testing::TestWithParam<std::string> {
 protected:
  static google::protobuf::Any ConfiguredOptions() { return OptionsOf(GetParam()); }
};

TEST_P(RegisteredAttentionTest, KeepsThePromisesOfAnAttention) {
  ExpectAllPass(CheckAttention(GetParam(), ConfiguredOptions()), 30);
}

TEST_P(RegisteredAttentionTest, KeepsThePromisesOfAClassifier) {
  ExpectAllPass(CheckClassifier(GetParam(), ConfiguredOptions()), 15);
}

INSTANTIATE_TEST_SUITE_P(Registry, RegisteredAttentionTest,
                         testing::ValuesIn(AttentionRegistry::Get().Names()),
                         [](const auto& info) { return info.param; });

using NameAndPath = std::tuple<std::string, KernelPath>;

class KernelPathTest : public testing::TestWithParam<NameAndPath> {};

// float64 has generic forms only, but for rows that are gathered: once is enough for it.
TEST_P(KernelPathTest, KeepsThePromisesOfAnAttention) {
  const auto& [name, path] = GetParam();
  const std::vector<KernelPath> available = AvailableKernelPaths();
  if (std::find(available.begin(), available.end(), path) == available.end())
    GTEST_SKIP() << "this machine has no " << KernelPathName(path);
  const ScopedKernelPath use(path);
  ExpectAllPass(CheckAttention(name, OptionsOf(name), {.types = {at::kFloat, at::kBFloat16}}), 10);
}

INSTANTIATE_TEST_SUITE_P(Registry, KernelPathTest,
                         testing::Combine(testing::ValuesIn(AttentionRegistry::Get().Names()),
                                          testing::ValuesIn(AllKernelPaths())),
                         [](const testing::TestParamInfo<NameAndPath>& info) {
                           return std::get<0>(info.param) + "_" +
                                  KernelPathName(std::get<1>(info.param));
                         });

TEST(RegistryTest, HoldsTheFirstThree) {
  EXPECT_THAT(AttentionRegistry::Get().Names(),
              testing::IsSupersetOf({"cosformer", "linear", "transformer"}));
}

TEST(CosformerOptionsTest, LengthScaleKeepsThePromisesToo) {
  const auto options = LoadAttentionOptions("cosformer", {"scale=LENGTH"});
  ASSERT_TRUE(options.ok()) << options.status();
  ExpectAllPass(CheckAttention("cosformer", *options), 30);
  ExpectAllPass(CheckClassifier("cosformer", *options), 16);
}

// What looks back only is read at its last position, not at its first.
TEST(AlwaysCausalTest, KeepsThePromisesOfAClassifier) {
  const auto options = LoadAttentionOptions("rfa", {"is_gated=true"});
  ASSERT_TRUE(options.ok()) << options.status();
  ExpectAllPass(CheckClassifier("rfa", *options), 15);
}

// The suite must be able to fail: attentions with one planted bug each.
class Planted : public Attention {
 public:
  enum class Bug {
    kMaskBeforeFeatures,
    kMultipliedMask,
    kBatchNormaliser,
    kWrongTrait,
    kDetachedDenominator,
    kHalfPrecision,
    kClaimsALimit,
    kClaimsToBeUnstable,
    kHeadsBehindTokens,
    kRefusesOneToken
  };
  explicit Planted(Bug bug) : bug_(bug) {
    traits_.label = "Planted";
    traits_.is_row_stochastic = true;
    traits_.is_permutation_invariant = bug != Bug::kWrongTrait;
    traits_.is_length_bound = bug == Bug::kClaimsALimit;
    if (bug == Bug::kClaimsToBeUnstable) traits_.bfloat16_reason = "none";
  }
  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& in) const override {
    TORCH_CHECK(bug_ != Bug::kRefusesOneToken || in.q.size(2) > 1, "one token is too few");
    at::Tensor k = in.k, v = in.v, features;
    const at::Tensor keep = in.keep.defined() ? in.keep.view({in.keep.size(0), 1, -1, 1})
                                              : at::ones({k.size(0), 1, k.size(2), 1}, at::kBool);
    if (bug_ == Bug::kMultipliedMask) {
      features = (at::elu(k) + 1) * keep;
      v = v * keep;
    } else {
      k = k.masked_fill(keep.logical_not(), 0);
      v = v.masked_fill(keep.logical_not(), 0);
      features = at::elu(k) + 1;
      if (bug_ != Bug::kMaskBeforeFeatures) features = features.masked_fill(keep.logical_not(), 0);
    }
    at::Tensor q = in.q;
    if (bug_ == Bug::kHalfPrecision && q.scalar_type() == at::kFloat) {
      for (at::Tensor* t : {&q, &features, &v}) *t = t->to(at::kBFloat16);
    }
    at::Tensor weights = at::matmul(at::elu(q) + 1, features.transpose(-1, -2));
    if (bug_ == Bug::kBatchNormaliser) weights = weights / weights.max();
    at::Tensor sum = weights.sum(-1, true) + 1e-6;
    if (bug_ == Bug::kDetachedDenominator) sum = sum.detach();
    const at::Tensor output = (at::matmul(weights, v) / sum).to(in.q.scalar_type());
    return bug_ == Bug::kHeadsBehindTokens ? output.transpose(1, 2) : output;
  }

  at::Tensor Oracle(const AttentionInput& in) const override {
    at::Tensor weights = at::matmul(at::elu(in.q) + 1, (at::elu(in.k) + 1).transpose(-1, -2));
    at::Tensor v = in.v;
    if (in.keep.defined()) {
      const at::Tensor masked = in.keep.logical_not();
      weights = weights.masked_fill(masked.view({masked.size(0), 1, 1, -1}), 0);
      v = v.masked_fill(masked.view({masked.size(0), 1, -1, 1}), 0);
    }
    return at::matmul(weights, v) / (weights.sum(-1, true) + 1e-6);
  }

 private:
  const Bug bug_;
  Traits traits_;
};

std::vector<ConformanceResult> Failures(Planted::Bug bug) {
  const auto results = CheckAttention(
      "planted", [&](const AttentionContext&) -> absl::StatusOr<std::unique_ptr<Attention>> {
        return std::make_unique<Planted>(bug);
      });
  std::vector<ConformanceResult> failed;
  for (const ConformanceResult& result : results.value()) {
    if (!result.passed) failed.push_back(result);
  }
  return failed;
}

std::vector<std::string> FailedIds(Planted::Bug bug) {
  std::vector<std::string> ids;
  for (const ConformanceResult& result : Failures(bug)) ids.push_back(result.id);
  return ids;
}

TEST(PlantedBugTest, MaskBeforeTheFeatureMapIsCaught) {
  EXPECT_THAT(FailedIds(Planted::Bug::kMaskBeforeFeatures),
              testing::IsSupersetOf({"T1", "T2", "T4"}));
}

TEST(PlantedBugTest, MaskByMultiplicationIsCaught) {
  EXPECT_THAT(FailedIds(Planted::Bug::kMultipliedMask), testing::Each("T3"));
  EXPECT_FALSE(FailedIds(Planted::Bug::kMultipliedMask).empty());
}

TEST(PlantedBugTest, BatchWideNormaliserIsCaught) {
  EXPECT_THAT(FailedIds(Planted::Bug::kBatchNormaliser), testing::Contains("T9"));
}

TEST(PlantedBugTest, WrongTraitIsCaught) {
  EXPECT_THAT(FailedIds(Planted::Bug::kWrongTrait), testing::ElementsAre("T8"));
}

TEST(PlantedBugTest, HalfPrecisionInsideIsCaught) {
  EXPECT_THAT(FailedIds(Planted::Bug::kHalfPrecision), testing::IsSupersetOf({"F32", "B16"}));
}

// A failure says what was seen, not what was declared.
TEST(PlantedBugTest, WrongYesOrNoIsCaughtAndTold) {
  const auto limit = Failures(Planted::Bug::kClaimsALimit);
  ASSERT_EQ(limit.size(), 1u);
  EXPECT_EQ(limit[0].id, "L");
  EXPECT_EQ(limit[0].detail, "a sequence above the longest is taken, not as declared");
  const auto stable = Failures(Planted::Bug::kClaimsToBeUnstable);
  ASSERT_EQ(stable.size(), 1u);
  EXPECT_EQ(stable[0].id, "B16");
  EXPECT_EQ(stable[0].detail,
            "not seen though declared: output moved by rounding its inputs, N = 263");
}

// What throws breaks its own promise, by its message, and no other.
TEST(PlantedBugTest, AnExceptionIsOneFailureAmongResults) {
  const auto failures = Failures(Planted::Bug::kRefusesOneToken);
  ASSERT_EQ(failures.size(), 4u);
  EXPECT_EQ(failures[0].id, "T1");
  EXPECT_EQ(failures[0].detail, "N = 1, no mask: LibTorch: one token is too few");
  EXPECT_FALSE(failures[0].was_compared);
  EXPECT_EQ(failures[1].detail, "N = 1, lengths N and 1: LibTorch: one token is too few");
  EXPECT_EQ(failures[2].id, "F32");
  EXPECT_EQ(failures[2].detail, failures[0].detail);
}

// [B, N, H, D] is no error of numbers, and is not told as one.
TEST(PlantedBugTest, AnotherShapeIsToldBesideTheRightOne) {
  const auto failures = Failures(Planted::Bug::kHeadsBehindTokens);
  ASSERT_FALSE(failures.empty());
  EXPECT_EQ(failures[0].detail,
            "N = 1, no mask: Planted: its output is [2, 1, 3, 5] Double on cpu, must be "
            "[B, H, N, D] = [2, 3, 1, 5] Double on cpu");
  for (const ConformanceResult& failure : failures) {
    EXPECT_FALSE(failure.was_compared) << failure.id;
    EXPECT_THAT(failure.detail, testing::HasSubstr("must be [B, H, N, D] = ")) << failure.id;
  }
  const std::vector<std::string> ids = FailedIds(Planted::Bug::kHeadsBehindTokens);
  EXPECT_THAT(ids, testing::IsSupersetOf({"T1", "T2n", "T3", "T4", "T7", "T8", "T9", "T10", "T13",
                                          "F32", "B16", "W", "R", "L"}));
}

TEST(PlantedBugTest, MissingGradientIsCaught) {
  EXPECT_THAT(FailedIds(Planted::Bug::kDetachedDenominator), testing::IsSupersetOf({"T2", "T2n"}));
}

}  // namespace
}  // namespace lra
