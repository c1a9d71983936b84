#include "models/weight_rows.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "models/attention/factorized.pb.h"
#include "models/attention_weights.h"
#include "models/interface/options.h"

namespace lra {
namespace {

using O = FactorizedOptions;
constexpr int64_t kRowTokens = 23, kHeads = 3, kWidth = 4;

struct RowsMade {
  std::unique_ptr<ParameterStore> store = std::make_unique<ParameterStore>(3);
  std::unique_ptr<Attention> attention;
};

RowsMade MakeRows(const std::string& name, const google::protobuf::Any& options,
                  const std::vector<double>& distance_slopes = {}) {
  RowsMade made;
  AttentionContext context;
  context.heads = kHeads;
  context.head_width = kWidth;
  context.model_width = kHeads * kWidth;
  context.max_length_tokens = 32;
  context.parameters = made.store.get();
  context.options = options;
  context.distance_slopes = distance_slopes;
  made.attention = AttentionRegistry::Get().Create("attention", name, context).value();
  return made;
}

// With these options over the config file's.
RowsMade MakeRows(const std::string& name, const std::vector<std::string>& sets = {}) {
  return MakeRows(name, LoadAttentionOptions(name, sets).value());
}

RowsMade MakePoint(const O& options) {
  google::protobuf::Any packed = LoadAttentionOptions("factorized").value();
  O all;
  packed.UnpackTo(&all);
  all.MergeFrom(options);
  packed.PackFrom(all);
  return MakeRows("factorized", packed);
}

AttentionInput RandomInput(bool is_masked, bool is_causal) {
  at::manual_seed(7);
  AttentionInput input;
  input.q = at::randn({1, kHeads, kRowTokens, kWidth}, at::kDouble);
  input.k = at::randn({1, kHeads, kRowTokens, kWidth}, at::kDouble);
  input.v = at::randn({1, kHeads, kRowTokens, kWidth}, at::kDouble);
  input.x = at::randn({1, kRowTokens, kHeads * kWidth}, at::kDouble);
  input.causal = is_causal;
  if (!is_masked) return input;
  input.keep = at::ones({1, kRowTokens}, at::kBool);
  input.keep[0][5] = false;
  input.keep[0][kRowTokens - 1] = false;
  return input;
}

// What counts of rows that are known up to a factor, which may be negative: absolute values as
// shares of their sum.
at::Tensor Shares(const at::Tensor& rows) {
  const at::Tensor sums = rows.abs().sum(-1, true);
  return rows.abs() / sums.masked_fill(sums == 0, 1);
}

// Against the dense weights of the oracle: rows in two blocks, and singular values.
void ExpectTheWeightsOf(const Attention& attention, const AttentionInput& input) {
  const auto rows = WeightRows::Create(attention, input);
  ASSERT_TRUE(rows.ok()) << rows.status();
  at::Tensor dense = (*ImpliedWeights(attention, input))[0];
  const at::Tensor expected = Shares(dense);
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 9}, {9, kRowTokens - 9}}) {
    EXPECT_TRUE(at::allclose(Shares(rows->Rows(first, count)), expected.narrow(1, first, count),
                             1e-9, 1e-11))
        << first;
  }
  if (input.keep.defined()) dense = dense.index_select(1, input.keep[0].nonzero().squeeze(-1));
  const at::Tensor values = *rows->SingularValues(), all = at::linalg_svdvals(dense);
  const int64_t count = values.size(-1);
  ASSERT_LE(count, all.size(-1));
  EXPECT_TRUE(at::allclose(values, all.narrow(-1, 0, count), 1e-9, 1e-11));
  if (count == all.size(-1)) return;  // what is left out is 0
  EXPECT_LT(all.narrow(-1, count, all.size(-1) - count).max().item<double>(), 1e-9);
}

void ExpectTheWeightsOf(const Attention& attention) {
  for (const bool is_causal : {false, true}) {
    if (is_causal && attention.traits().causality == Causality::kNever) continue;
    for (const bool is_masked : {false, true}) {
      SCOPED_TRACE(attention.traits().label + (is_causal ? " causal" : "") +
                   (is_masked ? " masked" : ""));
      ExpectTheWeightsOf(attention, RandomInput(is_masked, is_causal));
    }
  }
}

TEST(WeightRowsTest, AreThoseOfEveryMethodWithWeights) {
  for (const std::string& name : AttentionRegistry::Get().Names()) {
    const RowsMade made = MakeRows(name);
    if (made.attention->traits().has_weights) ExpectTheWeightsOf(*made.attention);
  }
}

O Point(O::FeatureMap feature, O::Reweighting reweighting, O::Normalizer normalizer) {
  O options;
  options.set_feature_map(feature);
  options.set_reweighting(reweighting);
  options.set_normalizer(normalizer);
  return options;
}

TEST(WeightRowsTest, AreThoseOfPointsOfTheFamily) {
  O stable = Point(O::POSITIVE_RANDOM, O::COSINE, O::SUM_PLUS);
  stable.set_epsilon(0);
  stable.set_random_features(7);
  O terms = Point(O::RELU, O::COSINE, O::SIGNED_FLOOR);
  terms.set_cosine_terms(3);
  terms.set_frequency_ratio(3);
  O length = Point(O::RELU, O::COSINE, O::SUM_CLAMP);
  length.set_scale(O::LENGTH);
  O learned = Point(O::ELU_PLUS_ONE, O::COSINE, O::SUM_PLUS);
  learned.set_scale(O::LEARNED);
  O floored = Point(O::IDENTITY, O::NO_REWEIGHTING, O::SIGNED_FLOOR);
  floored.set_floor_ratio(0.9);  // most rows
  for (const O& options :
       {stable, terms, length, learned, floored, Point(O::RELU, O::DECAY, O::KEY_COUNT),
        Point(O::ELU_PLUS_ONE, O::LEARNED_DECAY, O::SUM_PLUS),
        Point(O::UNIT, O::COSINE, O::NO_NORMALIZER),
        Point(O::UNIT, O::NO_REWEIGHTING, O::LENGTH_POWER),
        Point(O::IDENTITY, O::DECAY, O::SIGNED_FLOOR)}) {
    SCOPED_TRACE(options.ShortDebugString());
    ExpectTheWeightsOf(*MakePoint(options).attention);
  }
}

// model.positions=ALIBI, of softmax and of the linear family.
TEST(WeightRowsTest, ObeyTheSlopesOfDistances) {
  for (const char* name : {"transformer", "linear", "cottention"}) {
    const RowsMade made = MakeRows(name, LoadAttentionOptions(name).value(), {0.7, 0.2, 0.05});
    EXPECT_TRUE(WeightRows::IsByRows(*made.attention, RandomInput(false, false))) << name;
    ExpectTheWeightsOf(*made.attention);
  }
}

// A power of its own position scales each value, where the causal form does not scale rows.
TEST(WeightRowsTest, ScaleValuesWhereTheMethodDoes) {
  ExpectTheWeightsOf(*MakeRows("cottention", {"causal_scaling=VALUE"}).attention);
}

// What is done in time linear in N must not fall back unseen.
TEST(WeightRowsTest, LinearAttentionsHaveFeaturesAndLowRank) {
  const AttentionInput input = RandomInput(false, false);
  for (const char* name : {"linear", "relu", "cosformer", "performer", "cottention", "rfa"}) {
    const RowsMade made = MakeRows(name);
    EXPECT_TRUE(WeightRows::Create(*made.attention, input)->has_low_rank()) << name;
  }
  const O decay = Point(O::RELU, O::DECAY, O::KEY_COUNT);
  const RowsMade decaying = MakePoint(decay);
  EXPECT_TRUE(WeightRows::IsByRows(*decaying.attention, input));
  EXPECT_FALSE(WeightRows::Create(*decaying.attention, input)->has_low_rank());
  EXPECT_TRUE(WeightRows::IsByRows(*MakeRows("transformer").attention, input));
  EXPECT_FALSE(WeightRows::IsByRows(*MakeRows("sinkhorn").attention, input));
}

}  // namespace
}  // namespace lra
