// Batch norms over both texts of pairs (model.joint_pair_statistics).
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linear.h>
#include <gtest/gtest.h>

#include "models/small_model_test_util.h"

namespace lra {
namespace {

ExperimentConfig JointConfig(bool is_joint) {
  ExperimentConfig config = SmallConfig();
  config.mutable_model()->set_norm(ModelConfig::BATCH);
  config.mutable_model()->set_head(ModelConfig::LINEAR);
  config.mutable_model()->set_pair_head(ModelConfig::INTERACTION);
  config.mutable_model()->set_joint_pair_statistics(is_joint);
  return config;
}

TextList Both() {
  TextList all = kFirst;
  all.insert(all.end(), kSecond.begin(), kSecond.end());
  return all;
}

// In training, a pair model's pooled vectors are those of a model of single texts that reads all of
// them as one batch; the running statistics learn once, from that batch.
TEST(JointStatisticsTest, AreThoseOfOneBatchOfAllTexts) {
  const auto singles = PooledOnly(JointConfig(false));
  const std::vector<at::Tensor> halves = Logits(*singles, Batch(Both()), true).chunk(2);
  const at::Tensor a = halves[0], b = halves[1], features = at::cat({a, b, a * b, a - b}, 1);
  const auto joint = Make(JointConfig(true), Spec(true)),
             apart = Make(JointConfig(false), Spec(true));
  const at::Tensor expected = at::linear(features, Find(*joint, "head.logits.weight"));
  ExpectClose(Logits(*joint, Batch(kFirst, kSecond), true), expected);
  EXPECT_FALSE(at::allclose(Logits(*apart, Batch(kFirst, kSecond), true), expected, 1e-2, 1e-2));
  const std::string buffer = "encoder.layer1.mlp_norm.running_var";
  ExpectClose(Find(*joint, buffer), Find(*singles, buffer));
  EXPECT_FALSE(at::allclose(Find(*apart, buffer), Find(*singles, buffer), 1e-3, 1e-3));
}

TEST(JointStatisticsTest, PaddingHasNoSayAndEvaluationIsAsEver) {
  const auto joint = Make(JointConfig(true), Spec(true)),
             apart = Make(JointConfig(false), Spec(true));
  const HostBatch batch = Batch(kFirst, kSecond), padded = Batch(kFirst, kSecond, 12);
  const auto trial = [&](const HostBatch& b) {
    return joint->Forward(b, {.training = true, .updates_statistics = false}).detach();
  };
  ExpectClose(trial(padded), trial(batch));
  EXPECT_TRUE(at::equal(Logits(*joint, batch), Logits(*apart, batch)));
}

// Logits are a - b: 0 for two equal texts unless dropout treats them differently.
TEST(JointStatisticsTest, TheTextsHaveDropoutMasksOfTheirOwn) {
  ExperimentConfig config = JointConfig(true);
  TaskSpec spec = Spec(true);
  spec.set_classes(kWidth);
  const auto difference = [&](float dropout) {
    config.mutable_model()->set_dropout(dropout);
    const auto model = Make(config, spec);
    const at::Tensor weight = Find(*model, "head.logits.weight").detach().zero_();
    weight.narrow(1, 3 * kWidth, kWidth).copy_(at::eye(kWidth));
    const at::Tensor first = Logits(*model, Batch(kFirst, kFirst), true);
    EXPECT_TRUE(at::equal(Logits(*model, Batch(kFirst, kFirst), true), first));
    return first.abs().mean().item<float>();
  };
  EXPECT_LT(difference(0), 1e-5);
  EXPECT_GT(difference(0.2f), 0.05);
}

TEST(JointStatisticsTest, WhatIsVisitedIsWhatIsComputed) {
  const auto joint = Make(JointConfig(true), Spec(true));
  const ForwardContext trial = {.training = true, .updates_statistics = false};
  const at::Tensor logits = joint->Forward(Batch(kFirst, kSecond), trial);
  at::Tensor visited;
  joint->VisitActivations(Batch(kFirst, kSecond), trial,
                          [&](absl::string_view name, const at::Tensor& value) {
                            if (name == "logits") visited = value;
                            if (name == "pooled") {
                              EXPECT_EQ(value.size(0), 4);
                            }
                          });
  EXPECT_TRUE(at::equal(visited, logits));
}

}  // namespace
}  // namespace lra
