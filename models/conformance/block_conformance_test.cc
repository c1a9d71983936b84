// Every registered block keeps its promises; each promise is broken by a planted bug.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand_like.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "models/base/kernel_path.h"
#include "models/block_facts.h"
#include "models/conformance/conformance_test_util.h"
#include "models/conformance/report.h"
#include "models/layers/layer_pieces.h"
#include "models/layers/parameter_scope.h"
#include "models/layers/residual.h"

namespace lra {
namespace {

class RegisteredBlockTest : public testing::TestWithParam<std::string> {
 protected:
  google::protobuf::Any Options() const { return LoadBlockOptions(GetParam(), {}).value(); }
};

TEST_P(RegisteredBlockTest, KeepsThePromisesOfABlock) {
  ExpectAllPass(CheckBlock(GetParam(), Options()), 40);
}

TEST_P(RegisteredBlockTest, KeepsThemOnEveryKernelPath) {
  CheckSetting setting;
  setting.types = {at::kFloat};
  for (const KernelPath path : AvailableKernelPaths()) {
    const ScopedKernelPath use(path);
    SCOPED_TRACE(KernelPathName(path));
    ExpectAllPass(CheckBlock(GetParam(), Options(), setting), 7);
  }
}

TEST_P(RegisteredBlockTest, KeepsThePromisesOfAClassifier) {
  ExpectAllPass(CheckBlockInClassifier(GetParam(), Options()), 15);
}

TEST_P(RegisteredBlockTest, SaysWhatItIs) {
  const auto traits = TraitsOfCheckedBlock(GetParam(), Options());
  ASSERT_TRUE(traits.ok()) << traits.status();
  for (const std::string& text :
       {traits->label, traits->summary, traits->source, traits->time_order, traits->memory_order}) {
    EXPECT_NE(text, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, RegisteredBlockTest,
                         testing::ValuesIn(BlockRegistry::Get().Names()),
                         [](const auto& info) { return info.param; });

TEST(BlockRegistryTest, HoldsTheFirstThree) {
  EXPECT_THAT(BlockRegistry::Get().Names(),
              testing::IsSupersetOf({"attention_mlp", "gated_attention", "mixer"}));
}

// --- The suite must be able to fail ---

enum class Bug {
  kNone,
  kIgnoresPadding,      // averages over padding too
  kMultipliesMask,      // NaN gets through
  kCountsPadding,       // divides by N
  kAveragesTheBatch,    // over the examples
  kDropsByRow,          // the masks follow the place in the batch
  kDropsAlikeInLayers,  // the layer's number is not in the key
  kDropsAlways,         // in evaluation too
  kSeesTheFuture,       // the causal form averages over all
  kForgetsItsState,     // each piece starts anew
  kDetaches,            // no gradient through the average
  kRounds,              // bfloat16 inside
  kCancelsInBfloat16,   // a small difference of large values
  kDeclaresFewer,       // parameters
  kDeclaresLittleMemory,
  kClaimsAnAttention,
  kClaimsInvariance,  // though divided by N
  kIsNeverTheSame,    // random numbers of its own
  kTakesRotary,       // and turns nothing
};

// y_i = x_i + drop((mean of norm(x)) W).
class Planted : public Block {
 public:
  Planted(Bug bug, const BlockContext& context) : bug_(bug), residual_(ContextFor(bug, context)) {
    map_ =
        ParameterScope(context).Linear("map", context.model.width(), context.model.width(), false);
    traits_ = residual_.TraitsOfBlock();
    traits_.supports_streaming = traits_.is_causal;
    traits_.uses_attention = bug == Bug::kClaimsAnAttention;
    if (bug == Bug::kCountsPadding) {
      traits_.is_padding_invariant = false;
      traits_.padding_reason = "divides by N";
    }
  }
  const BlockTraits& traits() const override { return traits_; }

  at::Tensor Forward(const BlockInput& input) const override {
    BlockInput changed = input;
    if (bug_ == Bug::kDropsByRow) changed.run.example_ids = at::arange(input.x.size(0), at::kLong);
    if (bug_ == Bug::kDropsAlways && !input.run.is_training) {
      changed.run.probability = 0.1f;
      changed.run.step = input.run.step;
    }
    if (bug_ == Bug::kIgnoresPadding) changed.real = at::Tensor();
    const bool is_causal = traits_.is_causal && bug_ != Bug::kSeesTheFuture;
    at::Tensor x = residual_.Enter(changed);
    at::Tensor keep = Keep(changed);
    if (bug_ == Bug::kMultipliesMask) {
      changed.real = at::Tensor();
      x = residual_.Enter(changed) * keep;
      changed.real = input.real;
    }
    at::Tensor sum = is_causal ? x.cumsum(1) : x.sum(1, true);
    at::Tensor count = is_causal ? keep.cumsum(1) : keep.sum(1, true);
    if (bug_ == Bug::kCountsPadding || bug_ == Bug::kClaimsInvariance)
      count = count * 0 + x.size(1);
    if (bug_ == Bug::kAveragesTheBatch) sum = sum.mean(0, true).expand_as(sum);
    if (bug_ == Bug::kDetaches) sum = sum.detach();
    if (bug_ == Bug::kIsNeverTheSame) sum = sum + at::rand_like(sum);
    if (bug_ == Bug::kRounds && sum.scalar_type() == at::kFloat)
      sum = sum.to(at::kBFloat16).to(at::kFloat);
    if (bug_ == Bug::kCancelsInBfloat16 && sum.scalar_type() == at::kFloat) {
      const at::Tensor shifted = (x + 16).to(at::kBFloat16).to(at::kFloat) - 16;
      sum = is_causal ? shifted.cumsum(1) : shifted.sum(1, true);
    }
    const at::Tensor f = ApplyLinear(sum / count.clamp_min(1), map_);
    return residual_.Leave(f.expand_as(input.x), changed);
  }

  at::Tensor Oracle(const BlockInput& input) const override {
    const at::Tensor x = residual_.EnterOracle(input);
    at::Tensor weights = at::ones({1, x.size(1), x.size(1)}, x.options());
    if (traits_.is_causal) weights = weights.tril();
    weights = weights * Keep(input).transpose(1, 2);
    const at::Tensor average = at::matmul(weights, x) / weights.sum(2, true).clamp_min(1);
    return residual_.LeaveOracle(at::matmul(average, map_.weight.to(x.options()).t()), input);
  }

  int64_t ParameterCount() const override {
    const int64_t width = map_.weight.size(0);
    return width * width + (bug_ == Bug::kDeclaresFewer ? 0 : residual_.ParameterCount());
  }
  int64_t ActivationBytes(int64_t batch, int64_t tokens) const override {
    const int64_t rows = bug_ == Bug::kDeclaresLittleMemory ? 1 : tokens;
    return 4 * batch * rows * map_.weight.size(0) * 3 / 2;
  }

  BlockState InitState(int64_t batch, const at::TensorOptions& options) const override {
    BlockState state;
    state.tensors = {at::zeros({batch, 1, map_.weight.size(0)}, options),
                     at::zeros({batch, 1, 1}, options)};
    return state;
  }
  at::Tensor Extend(const BlockInput& piece, BlockState* state) const override {
    const c10::NoGradGuard no_gradient;
    if (bug_ == Bug::kForgetsItsState)
      state->tensors = InitState(piece.x.size(0), piece.x.options()).tensors;
    const at::Tensor sum = state->tensors[0] + residual_.Enter(piece).cumsum(1);
    const at::Tensor count = state->tensors[1] + Keep(piece).cumsum(1);
    state->tensors = {sum.slice(1, -1), count.slice(1, -1)};
    state->tokens += piece.x.size(1);
    return residual_.Leave(ApplyLinear(sum / count.clamp_min(1), map_), piece);
  }

 private:
  static BlockContext ContextFor(Bug bug, BlockContext context) {
    if (bug == Bug::kDropsAlikeInLayers) context.index = 0;
    return context;
  }
  // [B, N, 1] of 0 and 1.
  at::Tensor Keep(const BlockInput& input) const {
    const at::Tensor keep = residual_.Keep(input);
    return keep.defined() ? keep.unsqueeze(2).to(input.x.options())
                          : at::ones({input.x.size(0), input.x.size(1), 1}, input.x.options());
  }

  const Bug bug_;
  const Residual residual_;
  LinearMap map_;
  BlockTraits traits_;
};

// Ids of the promises that the block breaks.
std::set<std::string> Broken(Bug bug) {
  const auto results = CheckBlock(
      "planted", [&](const BlockContext& context) -> absl::StatusOr<std::unique_ptr<Block>> {
        BlockContext asked = context;
        if (bug == Bug::kTakesRotary) asked.model.clear_positions();
        if (const absl::Status status = RefuseAttention("planted", asked); !status.ok())
          return status;
        return std::make_unique<Planted>(bug, context);
      });
  std::set<std::string> ids;
  for (const ConformanceResult& result : results.value()) {
    if (!result.passed) ids.insert(result.id);
  }
  return ids;
}

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;

TEST(PlantedBlockTest, FieldsThatAreTakenAndIgnored) {
  EXPECT_THAT(Broken(Bug::kTakesRotary), ElementsAre("R"));
}

TEST(PlantedBlockTest, WithoutABugNothingIsBroken) { EXPECT_THAT(Broken(Bug::kNone), IsEmpty()); }

TEST(PlantedBlockTest, MasksThatAreIgnoredOrMultiplied) {
  EXPECT_THAT(Broken(Bug::kIgnoresPadding), IsSupersetOf({"T1", "T3", "T4"}));
  EXPECT_THAT(Broken(Bug::kMultipliesMask), Contains("T3"));
}

TEST(PlantedBlockTest, PaddingAndBatchThatCount) {
  EXPECT_THAT(Broken(Bug::kCountsPadding), Contains("T1"));
  EXPECT_THAT(Broken(Bug::kClaimsInvariance), IsSupersetOf({"T1", "T4"}));
  EXPECT_THAT(Broken(Bug::kAveragesTheBatch), IsSupersetOf({"T1", "T9"}));
}

TEST(PlantedBlockTest, DropoutThatIsKeyedWrongly) {
  EXPECT_THAT(Broken(Bug::kDropsByRow), IsSupersetOf({"D"}));
  EXPECT_THAT(Broken(Bug::kDropsAlikeInLayers), ElementsAre("D"));
  EXPECT_THAT(Broken(Bug::kDropsAlways), IsSupersetOf({"T1"}));
}

TEST(PlantedBlockTest, TheFutureAndTheState) {
  EXPECT_THAT(Broken(Bug::kSeesTheFuture), IsSupersetOf({"T1", "T5", "T6"}));
  EXPECT_THAT(Broken(Bug::kForgetsItsState), ElementsAre("T6"));
}

TEST(PlantedBlockTest, GradientsPrecisionAndRepeats) {
  EXPECT_THAT(Broken(Bug::kDetaches), ElementsAre("F32", "T2", "T2n"));
  EXPECT_THAT(Broken(Bug::kRounds), Contains("F32"));
  EXPECT_THAT(Broken(Bug::kCancelsInBfloat16), IsSupersetOf({"B16", "F32"}));
  EXPECT_THAT(Broken(Bug::kIsNeverTheSame), Contains("T10"));
}

TEST(PlantedBlockTest, WhatItDeclares) {
  EXPECT_THAT(Broken(Bug::kDeclaresFewer), ElementsAre("P"));
  EXPECT_THAT(Broken(Bug::kDeclaresLittleMemory), ElementsAre("A"));
  EXPECT_THAT(Broken(Bug::kClaimsAnAttention), ElementsAre("R"));
}

}  // namespace
}  // namespace lra
