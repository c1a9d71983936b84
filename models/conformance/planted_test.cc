// The suite must be able to fail, here for what only some cases show: an attention with a parameter
// of its own, a causal form, streaming and distance slopes, with one planted bug each.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "models/base/parameters.h"
#include "models/conformance/conformance_test_util.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

enum class CaseBug {
  kNone,
  kDetachedInFloat32,
  kDetachedWhenCausal,
  kGainBeforeMask,
  kNeedsHeadsBeforeTokens,
  kPrefixMaskInFloat32,
  kSharedState,
  kInfinitePaddedRows,
  kIgnoresMaskOfMany,
  kQueriesLessTheirMean,
  kQueriesLessMultipliedMean,
  kIgnoresSlopes,
  kDropsNothing,
  kIgnoresMaskOfLong
};

// Softmax attention times a learned gain for each head.
class Gained : public Attention {
 public:
  Gained(CaseBug bug, const AttentionContext& context)
      : bug_(bug), slopes_(context.distance_slopes) {
    traits_.label = "Gained";
    traits_.causality = Causality::kOptional;
    traits_.is_permutation_invariant = slopes_.empty();
    traits_.supports_cross = slopes_.empty();
    traits_.supports_streaming = slopes_.empty();
    traits_.takes_distance_slopes = true;
    traits_.has_weights = false;
    traits_.supports_weight_dropout = bug == CaseBug::kDropsNothing;
    gain_ =
        context.parameters->Create(context.scope + "gain", {context.heads}, Initializer::Normal(1));
  }
  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& in) const override {
    AttentionInput input = WithMaskBugs(in);
    const bool is_single = in.q.scalar_type() == at::kFloat;
    if (bug_ == CaseBug::kNeedsHeadsBeforeTokens)
      in.q.view({in.q.size(0) * in.q.size(1), in.q.size(2), in.q.size(3)});
    if (bug_ == CaseBug::kPrefixMaskInFloat32 && is_single && in.keep.defined())
      input.keep = at::arange(in.keep.size(1)).unsqueeze(0) < in.keep.sum(1, true);
    at::Tensor gain = GainLike(in.v);
    if ((bug_ == CaseBug::kDetachedInFloat32 && is_single) ||
        (bug_ == CaseBug::kDetachedWhenCausal && in.causal))
      gain = gain.detach();
    if (bug_ == CaseBug::kGainBeforeMask) return Mix(input, gain, at::ones({1}, gain.options()));
    at::Tensor output = Mix(input, {}, gain);
    if (bug_ == CaseBug::kInfinitePaddedRows && in.keep.defined() &&
        in.keep.size(1) == in.q.size(2)) {
      const at::Tensor padded = in.keep.logical_not().view({in.keep.size(0), 1, -1, 1});
      output = output.masked_fill(padded, std::numeric_limits<double>::infinity());
    }
    return output;
  }

  at::Tensor Oracle(const AttentionInput& in) const override {
    return Mix(in, {}, GainLike(in.v), /*is_oracle=*/true);
  }

  AttentionState InitState(int64_t, const at::TensorOptions&) const override {
    shared_ = {};
    return {};
  }

  at::Tensor Extend(const AttentionInput& piece, AttentionState* state) const override {
    AttentionState* own = bug_ == CaseBug::kSharedState ? &shared_ : state;
    const at::Tensor keep =
        piece.keep.defined() ? piece.keep : at::ones({piece.k.size(0), piece.k.size(2)}, at::kBool);
    if (own->tensors.empty()) {
      own->tensors = {piece.k, piece.v, keep};
    } else {
      own->tensors = {at::cat({own->tensors[0], piece.k}, 2),
                      at::cat({own->tensors[1], piece.v}, 2), at::cat({own->tensors[2], keep}, 1)};
    }
    AttentionInput all = piece;
    all.k = own->tensors[0];
    all.v = own->tensors[1];
    all.keep = own->tensors[2];
    all.causal = true;
    return Mix(all, {}, GainLike(all.v));
  }

 private:
  at::Tensor GainLike(const at::Tensor& v) const { return gain_.to(v.options()).view({-1, 1, 1}); }

  AttentionInput WithMaskBugs(AttentionInput in) const {
    if (bug_ == CaseBug::kIgnoresMaskOfMany && in.q.size(0) > 3) in.keep = at::Tensor();
    if (bug_ == CaseBug::kIgnoresMaskOfLong && in.q.size(2) >= 600) in.keep = at::Tensor();
    if (bug_ == CaseBug::kQueriesLessTheirMean) in.q = in.q - in.q.mean(2, true);
    if (bug_ != CaseBug::kQueriesLessMultipliedMean || !in.keep.defined() ||
        in.keep.size(1) != in.q.size(2))
      return in;
    const at::Tensor real = in.keep.view({in.keep.size(0), 1, -1, 1}).to(in.q.scalar_type());
    in.q = in.q - (in.q * real).sum(2, true) / real.sum(2, true).clamp_min(1);
    return in;
  }

  // Which keys each query does not see, [B or 1, 1, N or 1, Nk].
  static at::Tensor Hidden(const AttentionInput& in) {
    const int64_t queries = in.q.size(2), keys = in.k.size(2);
    at::Tensor hidden = at::zeros({1, 1, 1, keys}, at::kBool);
    if (in.keep.defined()) hidden = in.keep.logical_not().view({-1, 1, 1, keys});
    if (!in.causal) return hidden;
    const at::Tensor last = at::arange(queries).unsqueeze(1) + (keys - queries);
    return hidden.logical_or(at::arange(keys).unsqueeze(0) > last);
  }

  // before: a factor of values before the mask; undefined = none.
  at::Tensor Mix(const AttentionInput& in, const at::Tensor& before, const at::Tensor& behind,
                 bool is_oracle = false) const {
    at::Tensor k = in.k, v = in.v;
    if (before.defined()) v = v * before;
    if (in.keep.defined()) {
      const at::Tensor masked = in.keep.logical_not().view({in.keep.size(0), 1, -1, 1});
      k = k.masked_fill(masked, 0);
      v = v.masked_fill(masked, 0);
    }
    at::Tensor scores =
        at::matmul(in.q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(k.size(3)));
    if (!slopes_.empty() && (is_oracle || bug_ != CaseBug::kIgnoresSlopes)) {
      const at::Tensor distance =
          (at::arange(in.q.size(2)).unsqueeze(1) - at::arange(k.size(2)).unsqueeze(0)).abs();
      scores = scores - at::tensor(slopes_, scores.options()).view({-1, 1, 1}) * distance;
    }
    at::Tensor weights = scores.exp().masked_fill(Hidden(in), 0);
    const at::Tensor sum = weights.sum(-1, true);
    // Sums that underflow count as none.
    weights = weights / at::where(sum < 1e-30, at::ones({1}, sum.options()), sum);
    return at::matmul(weights, v) * behind;
  }

  const CaseBug bug_;
  Traits traits_;
  const std::vector<double> slopes_;
  at::Tensor gain_;
  mutable AttentionState shared_;
};

absl::StatusOr<std::vector<ConformanceResult>> Check(CaseBug bug) {
  return CheckAttention(
      "gained", [&](const AttentionContext& context) -> absl::StatusOr<std::unique_ptr<Attention>> {
        return std::make_unique<Gained>(bug, context);
      });
}

std::vector<ConformanceResult> Failed(CaseBug bug) {
  const auto results = Check(bug);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<ConformanceResult> failed;
  for (const ConformanceResult& result : results.value()) {
    if (!result.passed) failed.push_back(result);
  }
  return failed;
}

std::set<std::string> FailedPromises(CaseBug bug) {
  std::set<std::string> ids;
  for (const ConformanceResult& result : Failed(bug)) ids.insert(result.id);
  return ids;
}

TEST(PlantedInCasesTest, WithoutABugAllIsKept) { ExpectAllPass(Check(CaseBug::kNone), 30); }

TEST(PlantedInCasesTest, AGradientThatIsMissingInOneTypeOrFormIsCaught) {
  EXPECT_THAT(FailedPromises(CaseBug::kDetachedInFloat32), ElementsAre("B16", "F32"));
  EXPECT_THAT(FailedPromises(CaseBug::kDetachedWhenCausal), IsSupersetOf({"T2", "T2n", "F32"}));
}

TEST(PlantedInCasesTest, NotANumberInTheGradientOfAParameterIsCaught) {
  EXPECT_THAT(FailedPromises(CaseBug::kGainBeforeMask), ElementsAre("T3"));
}

TEST(PlantedInCasesTest, TheLayoutOfTheEncoderIsTried) {
  const auto failed = Failed(CaseBug::kNeedsHeadsBeforeTokens);
  ASSERT_FALSE(failed.empty());
  EXPECT_FALSE(failed[0].was_compared);
  EXPECT_THAT(failed[0].detail, HasSubstr("view size is not compatible"));
}

TEST(PlantedInCasesTest, HolesInAMaskOfFloat32AreCaught) {
  EXPECT_THAT(FailedPromises(CaseBug::kPrefixMaskInFloat32), testing::Contains("F32"));
  for (const ConformanceResult& result : Failed(CaseBug::kPrefixMaskInFloat32))
    EXPECT_THAT(result.id, testing::AnyOf("F32", "T6", "R")) << result.detail;
}

TEST(PlantedInCasesTest, AStateThatTwoTextsShareIsCaught) {
  EXPECT_THAT(FailedPromises(CaseBug::kSharedState), ElementsAre("T6"));
}

TEST(PlantedInCasesTest, InfinityInRowsThatNobodyReadsIsCaught) {
  EXPECT_THAT(FailedPromises(CaseBug::kInfinitePaddedRows), testing::Contains("T3"));
}

TEST(PlantedInCasesTest, AMaskThatIsForgottenInLargerBatchesIsCaught) {
  EXPECT_THAT(FailedPromises(CaseBug::kIgnoresMaskOfMany), ElementsAre("T3", "T9"));
}

TEST(PlantedInCasesTest, AMaskThatIsForgottenInLongSequencesIsCaught) {
  EXPECT_THAT(FailedPromises(CaseBug::kIgnoresMaskOfLong), ElementsAre("F32"));
}

// Its oracle drops nothing, either.
TEST(PlantedInCasesTest, WeightDropoutWithoutAnEffectIsCaught) {
  const auto failed = Failed(CaseBug::kDropsNothing);
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0].id, "T1");
  EXPECT_EQ(failed[0].detail, "weight dropout is not read, not as declared");
  EXPECT_EQ(failed[1].id, "T1");
  EXPECT_EQ(failed[1].detail, "weight dropout is not read, causal, not as declared");
}

TEST(PlantedInCasesTest, WhatPaddedQueriesMoveIsCaught) {
  const auto of_t3 = [](CaseBug bug) {
    std::string details;
    for (const ConformanceResult& result : Failed(bug)) {
      if (result.id == "T3") details += result.detail + "\n";
    }
    return details;
  };
  EXPECT_THAT(of_t3(CaseBug::kQueriesLessTheirMean), HasSubstr("other padded queries, float32"));
  // A mask that multiplies lets NaN through, and nothing else.
  const std::string multiplied = of_t3(CaseBug::kQueriesLessMultipliedMean);
  EXPECT_THAT(multiplied, HasSubstr("NaN in padded queries, output, float64"));
  EXPECT_THAT(multiplied, Not(HasSubstr("other padded queries")));
}

TEST(PlantedInCasesTest, ASizeThatTheFactoryRefusesIsNamed) {
  const auto results = CheckAttention(
      "gained", [](const AttentionContext& context) -> absl::StatusOr<std::unique_ptr<Attention>> {
        if (context.head_width % 2 != 0) return absl::InvalidArgumentError("an odd head width");
        return std::make_unique<Gained>(CaseBug::kNone, context);
      });
  EXPECT_EQ(results.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(results.status().message(),
            "made for the cases with H = 3, D = 5 and at most 640 tokens: an odd head width");
}

TEST(PlantedInCasesTest, SlopesWithoutAnEffectAreCaught) {
  EXPECT_THAT(FailedPromises(CaseBug::kIgnoresSlopes), IsSupersetOf({"R", "T1", "F32"}));
}

}  // namespace
}  // namespace lra
