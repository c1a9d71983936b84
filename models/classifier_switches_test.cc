// What the switches of published protocols do to the whole model.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linear.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lra/config.h"
#include "models/classifier.h"
#include "models/small_model_test_util.h"

namespace lra {
namespace {

// --- the official sizes ---

// The counts of google-research/long-range-arena follow from its encoder and configs; its
// vocabularies have 17 ids (ListOps with padding and brackets), 257 bytes, and 256 grey values.
TEST(OfficialModelsTest, HaveTheirParameterCounts) {
  const struct {
    const char* task;
    int vocabulary, classes;
    int64_t parameters;
  } kModels[] = {{"listops", 17, 10, 8948746},    {"text", 257, 2, 3486722},
                 {"retrieval", 257, 2, 1087618},  {"image", 256, 10, 248458},
                 {"pathfinder32", 256, 2, 26530}, {"pathx", 256, 2, 537954}};
  for (const auto& expected : kModels) {
    ConfigBuilder builder(expected.task);
    ASSERT_TRUE(builder.AddProtocol("lra2020").ok());
    ASSERT_TRUE(builder.AddPreset("lra2020").ok());
    ASSERT_TRUE(builder.AddAttention("transformer").ok());
    const auto resolved = builder.Build();
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    TaskSpec spec;
    spec.set_vocabulary_size(expected.vocabulary);
    spec.set_classes(expected.classes);
    spec.set_is_pair(expected.task == std::string("retrieval"));
    EXPECT_EQ(Make(resolved->config, spec)->parameters().count(), expected.parameters)
        << expected.task;
  }
}

// --- pairs ---

TEST(PairTest, OneEncoderReadsBothTexts) {
  for (const auto pooling : {ModelConfig::MEAN, ModelConfig::CLS, ModelConfig::FIRST}) {
    ExperimentConfig config = SmallConfig();
    config.mutable_model()->set_pooling(pooling);
    config.mutable_model()->set_pair_head(ModelConfig::INTERACTION);
    const auto encoder = PooledOnly(config);
    const at::Tensor a = Logits(*encoder, Batch(kFirst)), b = Logits(*encoder, Batch(kSecond));
    const auto model = Make(config, Spec(true));
    const at::Tensor features = at::cat({a, b, a * b, a - b}, 1);
    const at::Tensor hidden = at::linear(features, Find(*model, "head.hidden.weight")).relu();
    ExpectClose(Logits(*model, Batch(kFirst, kSecond)),
                at::linear(hidden, Find(*model, "head.logits.weight")));
    EXPECT_EQ(model->parameters().count() - (4 * kWidth * 20 + 20 + 20 * kClasses + kClasses),
              encoder->parameters().count() - (kWidth * kWidth + kWidth));
  }
}

TEST(PairTest, APairIsItsBatchsNoBusiness) {
  const auto model = Make(SmallConfig(), Spec(true));
  const at::Tensor both = Logits(*model, Batch(kFirst, kSecond));
  for (size_t i = 0; i < 2; ++i) {
    ExpectClose(Logits(*model, Batch({kFirst[i]}, {kSecond[i]}))[0], both[i]);
  }
  EXPECT_FALSE(at::allclose(Logits(*model, Batch(kSecond, kFirst)), both, 1e-2, 1e-2));
}

// Logits are a - b: 0 for two equal texts unless dropout treats them differently.
TEST(PairTest, TheTextsHaveDropoutMasksOfTheirOwn) {
  ExperimentConfig config = SmallConfig();
  config.mutable_model()->set_dropout(0.2f);
  config.mutable_model()->set_head(ModelConfig::LINEAR);
  TaskSpec spec = Spec(true);
  spec.set_classes(kWidth);
  const auto model = Make(config, spec);
  const at::Tensor weight = Find(*model, "head.logits.weight").detach().zero_();
  weight.narrow(1, 3 * kWidth, kWidth).copy_(at::eye(kWidth));
  const HostBatch batch = Batch(kFirst, kFirst);
  EXPECT_EQ(Logits(*model, batch).abs().max().item<float>(), 0);
  const at::Tensor training = Logits(*model, batch, true);
  EXPECT_GT(training.abs().mean().item<float>(), 0.05);
  EXPECT_TRUE(at::equal(training, Logits(*model, batch, true)));
  // Nor do masks depend on the batch.
  HostBatch alone = Batch({kFirst[1]}, {kFirst[1]});
  alone.example_ids = {batch.example_ids[1]};
  ExpectClose(Logits(*model, alone, true)[0], training[1]);
}

TEST(PairTest, EveryParameterGetsAGradient) {
  ExperimentConfig config = SmallConfig();
  config.mutable_model()->set_pair_head(ModelConfig::CONCATENATION);
  const auto model = Make(config, Spec(true));
  model->Forward(Batch(kFirst, kSecond), {.training = true}).square().sum().backward();
  for (const Parameter& p : model->parameters().parameters()) {
    ASSERT_TRUE(p.value.grad().defined()) << p.name;
    EXPECT_GT(p.value.grad().abs().sum().item<float>(), 0) << p.name;
  }
}

TEST(PairTest, VisitsTheFirstTextsThenTheSecondOnes) {
  const auto model = Make(SmallConfig(), Spec(true));
  std::vector<std::pair<int64_t, int64_t>> layers_and_lengths;
  model->VisitAttention(Batch(kFirst, kSecond),
                        [&](int64_t layer, const Attention&, const AttentionInput& input) {
                          layers_and_lengths.emplace_back(layer, input.q.size(2));
                        });
  EXPECT_THAT(layers_and_lengths, testing::ElementsAre(std::pair(0, 5), std::pair(1, 5),
                                                       std::pair(0, 4), std::pair(1, 4)));
}

// --- inputs ---

TEST(PositionsTest, WithoutThemOrderDoesNotCount) {
  ExperimentConfig config = SmallConfig();
  const TextList forth = {{1, 2, 3, 4}}, back = {{3, 1, 4, 2}};
  const auto with = Make(config);
  EXPECT_FALSE(at::allclose(Logits(*with, Batch(forth)), Logits(*with, Batch(back)), 1e-3, 1e-3));
  config.mutable_model()->set_positions(ModelConfig::NO_POSITIONS);
  const auto without = Make(config);
  ExpectClose(Logits(*without, Batch(forth)), Logits(*without, Batch(back)));
  EXPECT_EQ(without->parameters().count(), with->parameters().count());
}

// Nothing is added to the embedding and nothing is learned; still the order counts, and what is
// padded at the end does not.
TEST(PositionsTest, RotaryOnesAreTheAttentions) {
  for (const std::string attention : {"transformer", "linear", "reformer"}) {
    ExperimentConfig config = SmallConfig(attention);
    config.mutable_model()->set_positions(ModelConfig::NO_POSITIONS);
    const auto without = Make(config);
    config.mutable_model()->set_positions(ModelConfig::ROTARY);
    const auto with = Make(config);
    EXPECT_EQ(without->parameters().count(), with->parameters().count());
    const HostBatch one_order = Batch({{1, 2, 3, 4}}), other = Batch({{3, 1, 4, 2}});
    const at::Tensor forth = Logits(*with, one_order);
    EXPECT_FALSE(at::allclose(forth, Logits(*with, other), 1e-3, 1e-3)) << attention;
    // Reformer sorts tokens: it sees an order by itself.
    if (attention != "reformer") ExpectClose(Logits(*without, one_order), Logits(*without, other));
    ExpectClose(forth, Logits(*with, Batch({{1, 2, 3, 4}}, {}, 9)));
  }
  ExperimentConfig config = SmallConfig("fnet");
  config.mutable_model()->set_positions(ModelConfig::ROTARY);
  const auto refused = Classifier::Create(config, Spec());
  EXPECT_THAT(refused.status().ToString(),
              testing::HasSubstr("model.positions: is ROTARY, but \"fnet\" cannot have it: it "
                                 "has no queries and keys"));
}

// The same with weights that fall with distance.
TEST(PositionsTest, DistancesAreTheAttentions) {
  for (const std::string attention : {"transformer", "linear"}) {
    ExperimentConfig config = SmallConfig(attention);
    config.mutable_model()->set_positions(ModelConfig::NO_POSITIONS);
    const auto without = Make(config);
    config.mutable_model()->set_positions(ModelConfig::ALIBI);
    const auto with = Make(config);
    EXPECT_EQ(without->parameters().count(), with->parameters().count());
    const HostBatch one_order = Batch({{1, 2, 3, 4}}), other = Batch({{3, 1, 4, 2}});
    const at::Tensor forth = Logits(*with, one_order);
    EXPECT_FALSE(at::allclose(forth, Logits(*with, other), 1e-3, 1e-3)) << attention;
    ExpectClose(Logits(*without, one_order), Logits(*without, other));
    ExpectClose(forth, Logits(*with, Batch({{1, 2, 3, 4}}, {}, 9)));
    // Distances are the same back to front, and the mean does not care.
    ExpectClose(forth, Logits(*with, Batch({{4, 3, 2, 1}})));
  }
  ExperimentConfig config = SmallConfig("cosformer");
  config.mutable_model()->set_positions(ModelConfig::ALIBI);
  EXPECT_THAT(Classifier::Create(config, Spec()).status().ToString(),
              testing::HasSubstr("model.positions: is ALIBI, but the weights of \"cosformer\""));
}

TEST(PadToTest, TheModelTakesThePaddedLength) {
  ExperimentConfig config = SmallConfig();
  config.mutable_view()->set_max_length_tokens(33);
  config.mutable_view()->set_pad_to(DataView::POWER_OF_TWO);
  config.mutable_model()->set_positions(ModelConfig::LEARNED);
  const auto model = Make(config);
  EXPECT_EQ(Find(*model, "embedding.position.weight").size(0), 64);
  EXPECT_EQ(Logits(*model, Batch(kFirst, {}, 64)).size(0), 2);
  EXPECT_ANY_THROW(Logits(*model, Batch(kFirst, {}, 65)));
}

// --- padding ---

TEST(PaddingTest, ItsAmountCountsOnlyWhereTheModelSaysSo) {
  const struct {
    ModelConfig::Mask mask;
    ModelConfig::Pooling pooling;
    bool depends;
  } kCases[] = {{ModelConfig::KEYS, ModelConfig::MEAN, false},
                {ModelConfig::OUTER, ModelConfig::MEAN, false},
                {ModelConfig::OUTER, ModelConfig::CLS, false},
                {ModelConfig::KEYS, ModelConfig::LAST_TOKEN, false},
                {ModelConfig::KEYS, ModelConfig::MEAN_OF_ALL, true},
                {ModelConfig::KEYS, ModelConfig::SUM_OVER_N, true},
                {ModelConfig::NO_MASK, ModelConfig::MEAN, true}};
  for (const auto& c : kCases) {
    ExperimentConfig config = SmallConfig();
    config.mutable_model()->set_mask(c.mask);
    config.mutable_model()->set_pooling(c.pooling);
    const auto model = Make(config);
    EXPECT_EQ(model->depends_on_padding(), c.depends);
    const at::Tensor little = Logits(*model, Batch(kFirst)),
                     much = Logits(*model, Batch(kFirst, {}, 20));
    EXPECT_EQ(at::allclose(little, much, 1e-4, 1e-4), !c.depends)
        << ModelConfig::Mask_Name(c.mask) << ", " << ModelConfig::Pooling_Name(c.pooling);
  }
  EXPECT_TRUE(Make(SmallConfig("fnet"))->depends_on_padding());
}

// Padding's vector learns where padded positions have a say, and only there.
TEST(PaddingTest, ItsVectorLearnsWhereItCounts) {
  const auto gradient = [](ModelConfig::Mask mask, ModelConfig::Pooling pooling) {
    ExperimentConfig config = SmallConfig();
    config.mutable_model()->set_mask(mask);
    config.mutable_model()->set_pooling(pooling);
    const auto model = Make(config);
    model->Forward(Batch(kFirst), {.training = true}).square().sum().backward();
    return Find(*model, "embedding.token.weight").grad()[0].abs().sum().item<float>();
  };
  EXPECT_EQ(gradient(ModelConfig::KEYS, ModelConfig::MEAN), 0);
  EXPECT_EQ(gradient(ModelConfig::OUTER, ModelConfig::CLS), 0);
  EXPECT_GT(gradient(ModelConfig::OUTER, ModelConfig::MEAN_OF_ALL), 0);
  EXPECT_GT(gradient(ModelConfig::NO_MASK, ModelConfig::MEAN), 0);
}

// Black pixels as padding: they neither count in the mean nor as keys, and a black image is no NaN.
TEST(ZeroIsPaddingTest, BlackPixelsAreMasked) {
  for (const std::string attention : {"transformer", "linear", "cosformer", "bigbird"}) {
    for (const auto mask : {ModelConfig::KEYS, ModelConfig::OUTER}) {
      ExperimentConfig config = SmallConfig(attention);
      config.mutable_view()->set_zero_is_padding(true);
      config.mutable_model()->set_mask(mask);
      TaskSpec spec = Spec();
      spec.set_zero_is_token(true);  // as the view of ids says it
      const auto model = Make(config, spec);
      const HostBatch batch = Batch({{0, 5, 0, 7, 1, 0, 2, 0}, {0, 0, 0, 0, 0, 0, 0, 0}});
      const at::Tensor logits = model->Forward(batch, {.training = true});
      logits.square().sum().backward();
      EXPECT_TRUE(logits.isfinite().all().item<bool>()) << attention;
      for (const Parameter& p : model->parameters().parameters()) {
        EXPECT_TRUE(p.value.grad().isfinite().all().item<bool>()) << attention << " " << p.name;
      }
      // What stands for black does not matter: it is neither key nor pooled.
      Find(*model, "embedding.token.weight").detach()[0].mul_(-3).add_(1);
      ExpectClose(Logits(*model, batch), logits.detach());
      config.mutable_view()->set_zero_is_padding(false);
      EXPECT_FALSE(at::allclose(Logits(*Make(config, spec), batch), logits, 1e-3, 1e-3));
    }
  }
}

// One layer, CLS pooling: only the CLS row is read. Where it is padding under OUTER, it asks
// nothing, and the query projection has no gradient.
TEST(ClsMaskTest, AsFirstTokenMakesClsPadding) {
  const auto query_gradient = [](ModelConfig::ClsMask cls, ModelConfig::Mask mask, int32_t first) {
    ExperimentConfig config = SmallConfig();
    config.mutable_view()->set_zero_is_padding(true);
    config.mutable_model()->set_layers(1);
    config.mutable_model()->set_pooling(ModelConfig::CLS);
    config.mutable_model()->set_cls_mask(cls);
    config.mutable_model()->set_mask(mask);
    TaskSpec spec = Spec();
    spec.set_zero_is_token(true);
    const auto model = Make(config, spec);
    model->Forward(Batch({{first, 5, 0, 7}}), {.training = true}).square().sum().backward();
    return Find(*model, "encoder.layer0.attention.query.weight").grad().abs().sum().item<float>();
  };
  EXPECT_EQ(query_gradient(ModelConfig::AS_FIRST_TOKEN, ModelConfig::OUTER, 0), 0);
  EXPECT_GT(query_gradient(ModelConfig::AS_FIRST_TOKEN, ModelConfig::OUTER, 3), 0);
  EXPECT_GT(query_gradient(ModelConfig::AS_FIRST_TOKEN, ModelConfig::KEYS, 0), 0);
  EXPECT_GT(query_gradient(ModelConfig::REAL, ModelConfig::OUTER, 0), 0);
}

// --- norms ---

TEST(BatchNormModelTest, TrainingMovesTheRunningStatisticsAndNothingElseDoes) {
  ExperimentConfig config = SmallConfig();
  config.mutable_model()->set_norm(ModelConfig::BATCH);
  EXPECT_TRUE(DependsOnBatch(config));
  EXPECT_EQ(NormsOverExamples(config), "model.norm=BATCH");
  EXPECT_FALSE(DependsOnBatch(SmallConfig()));
  const auto model = Make(config);
  ASSERT_EQ(model->parameters().buffers().size(), 10u);  // five norms
  const auto snapshot = [&] {
    std::vector<at::Tensor> values;
    for (const Parameter& buffer : model->parameters().buffers())
      values.push_back(buffer.value.clone());
    return values;
  };
  const auto is_same = [](const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (at::equal(a[i], b[i])) return true;
    return false;
  };
  const std::vector<at::Tensor> start = snapshot();
  const at::Tensor before = Logits(*model, Batch(kFirst));
  model->Forward(Batch(kFirst), {.training = true, .updates_statistics = false});
  EXPECT_TRUE(at::equal(Logits(*model, Batch(kFirst)), before));
  const at::Tensor training = Logits(*model, Batch(kFirst), true);
  EXPECT_FALSE(is_same(start, snapshot()));  // every one moved
  EXPECT_FALSE(at::equal(Logits(*model, Batch(kFirst)), before));
  // An example's logits depend on its neighbour in training and not in evaluation.
  const TextList other = {kFirst[0], {9, 9, 9}};
  EXPECT_FALSE(at::allclose(Logits(*model, Batch(other), true)[0], training[0], 1e-3, 1e-3));
  ExpectClose(Logits(*model, Batch(other))[0], Logits(*model, Batch(kFirst))[0]);
}

TEST(NormPlacementTest, AfterHasNoFinalNorm) {
  ExperimentConfig config = SmallConfig();
  const int64_t before = Make(config)->parameters().count();
  config.mutable_model()->set_norm_placement(ModelConfig::AFTER);
  const auto model = PooledOnly(config);
  EXPECT_EQ(Make(config)->parameters().count(), before - 2 * kWidth);
  // The last layer's own norm is the last thing that happens to a token.
  config.mutable_model()->set_pooling(ModelConfig::FIRST);
  const at::Tensor token = Logits(*PooledOnly(config), Batch(kFirst));
  EXPECT_NEAR(token[0].mean().item<float>(), 0, 1e-5);
  EXPECT_NEAR(token[0].var(0, false).item<float>(), 1, 1e-3);
}

// Every combination of norms trains.
TEST(NormPlacementTest, EveryCombinationGivesGradients) {
  for (const auto norm : {ModelConfig::LAYER, ModelConfig::BATCH}) {
    for (const auto placement : {ModelConfig::BEFORE, ModelConfig::AFTER}) {
      for (const std::string attention : {"transformer", "s4d", "reformer"}) {
        ExperimentConfig config = SmallConfig(attention);
        config.mutable_model()->set_norm(norm);
        config.mutable_model()->set_norm_placement(placement);
        const auto model = Make(config);
        model->Forward(Batch(kFirst), {.training = true}).square().sum().backward();
        for (const Parameter& p : model->parameters().parameters()) {
          ASSERT_TRUE(p.value.grad().defined()) << p.name;
          EXPECT_TRUE(p.value.grad().isfinite().all().item<bool>()) << p.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lra
