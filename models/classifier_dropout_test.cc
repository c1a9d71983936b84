// Where dropout acts in whole models, whom one draw is about, and how linear layers begin.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/small_model_test_util.h"

namespace lra {
namespace {

ExperimentConfig DroppingConfig(const std::string& attention = "s4d") {
  ExperimentConfig config = SmallConfig(attention);
  config.mutable_model()->set_dropout(0.3f);
  return config;
}

std::vector<at::Tensor> Visited(const Classifier& model, const HostBatch& batch,
                                const std::string& name) {
  std::vector<at::Tensor> found;
  model.VisitActivations(batch, {.training = true, .step = 3},
                         [&](absl::string_view at, const at::Tensor& value) {
                           if (at == name) found.push_back(value.detach());
                         });
  EXPECT_FALSE(found.empty()) << name;
  return found;
}

// The share of dropped values at the first real tokens of each channel that is the same at all.
double SameForAllTokens(const at::Tensor& x, int64_t tokens) {
  const at::Tensor dropped = x.narrow(1, 0, tokens) == 0;  // [B, tokens, E]
  return (dropped == dropped.narrow(1, 0, 1)).to(at::kDouble).mean().item<double>();
}

TEST(DropoutMaskTest, OneDrawIsAboutAllTokensOfAChannel) {
  const HostBatch batch = Batch({{1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1}});
  for (const auto mask : {ModelConfig::EACH_TOKEN, ModelConfig::ALL_TOKENS}) {
    ExperimentConfig config = DroppingConfig();
    config.mutable_model()->set_dropout_mask(mask);
    const at::Tensor x = Visited(*Make(config), batch, "embedding")[0];
    EXPECT_GT((x == 0).sum().item<int64_t>(), 0);
    if (mask == ModelConfig::ALL_TOKENS) {
      EXPECT_EQ(SameForAllTokens(x, 8), 1);
    } else {
      EXPECT_LT(SameForAllTokens(x, 8), 0.9);
    }
  }
}

TEST(DropoutMaskTest, NeitherPaddingNorBatchMovesAMask) {
  for (const bool has_inner : {false, true}) {
    ExperimentConfig config = DroppingConfig();
    config.mutable_model()->set_dropout_mask(ModelConfig::ALL_TOKENS);
    config.mutable_model()->set_inner_dropout(has_inner);
    const auto model = Make(config);
    const at::Tensor both = Logits(*model, Batch(kFirst), true);
    ExpectClose(Logits(*model, Batch(kFirst, {}, 14), true), both);
    HostBatch alone = Batch({kFirst[1]});
    alone.example_ids = {Batch(kFirst).example_ids[1]};
    ExpectClose(Logits(*model, alone, true)[0], both[1]);
  }
}

TEST(EmbeddingDropoutTest, CanBeLeftOut) {
  ExperimentConfig config = DroppingConfig();
  const HostBatch batch = Batch(kFirst);
  EXPECT_GT((Visited(*Make(config), batch, "embedding")[0] == 0).sum().item<int64_t>(), 0);
  config.mutable_model()->set_embedding_dropout(false);
  const auto model = Make(config);
  EXPECT_EQ((Visited(*model, batch, "embedding")[0] == 0).sum().item<int64_t>(), 0);
  EXPECT_FALSE(at::allclose(Logits(*model, batch, true), Logits(*model, batch), 1e-3, 1e-3))
      << "layers still drop";
}

TEST(InnerDropoutTest, ActsInTrainingAndIsRefusedWhereThereIsNoPlaceForIt) {
  ExperimentConfig config = DroppingConfig();
  const HostBatch batch = Batch(kFirst);
  const auto without = Make(config);
  config.mutable_model()->set_inner_dropout(true);
  const auto with = Make(config);
  EXPECT_TRUE(at::equal(Logits(*with, batch), Logits(*without, batch)));
  EXPECT_FALSE(at::allclose(Visited(*with, batch, "layer 0 attention")[0],
                            Visited(*without, batch, "layer 0 attention")[0], 1e-3, 1e-3));
  ExperimentConfig refused = DroppingConfig("linear");
  refused.mutable_model()->set_inner_dropout(true);
  EXPECT_THAT(std::string(Classifier::Create(refused, Spec()).status().message()),
              testing::HasSubstr("model.inner_dropout: is true, but \"linear\" has no inner"));
}

// All weights and biases of linear layers are within 1 / sqrt(fan_in) and reach out to it; a bias
// has the fan_in of its weight.
TEST(InitialValuesTest, PyTorchsAreThoseOfEveryLinearLayer) {
  for (const std::string attention : {"transformer", "s4d"}) {
    ExperimentConfig config = SmallConfig(attention);
    config.mutable_model()->set_initial_values(ModelConfig::PYTORCH);
    config.mutable_model()->set_attention_bias(true);
    const auto model = Make(config);
    int biases = 0;
    for (const Parameter& weight : model->parameters().parameters()) {
      if (!weight.is_matrix) continue;
      const double bound = 1 / std::sqrt(static_cast<double>(weight.value.size(1)));
      EXPECT_LE(weight.value.abs().max().item<double>(), bound) << weight.name;
      EXPECT_GT(weight.value.abs().max().item<double>(), 0.8 * bound) << weight.name;
      const std::string layer = weight.name.substr(0, weight.name.rfind('.'));
      const at::Tensor bias = Find(*model, layer + ".bias");
      EXPECT_LE(bias.abs().max().item<double>(), bound) << layer;
      EXPECT_GT(bias.abs().max().item<double>(), 0.3 * bound) << layer;
      ++biases;
    }
    EXPECT_GE(biases, 6) << attention;
  }
}

}  // namespace
}  // namespace lra
