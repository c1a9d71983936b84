// Small models for tests of what switches do to whole ones.
#ifndef LRA_MODELS_SMALL_MODEL_TEST_UTIL_H_
#define LRA_MODELS_SMALL_MODEL_TEST_UTIL_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/eye.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lra/config.h"
#include "models/classifier.h"

namespace lra {

constexpr int64_t kWidth = 16, kClasses = 3;

inline ExperimentConfig SmallConfig(const std::string& attention = "transformer") {
  ExperimentConfig config;
  config.set_seed(1);
  config.mutable_view()->set_max_length_tokens(32);
  *config.mutable_attention() = LoadAttentionFile(attention)->attention();
  ModelConfig* model = config.mutable_model();
  model->set_layers(2);
  model->set_width(kWidth);
  model->set_heads(2);
  model->set_qkv_width(16);
  model->set_mlp_width(24);
  model->set_head_width(20);
  model->set_positions(ModelConfig::SINUSOID);
  model->set_pooling(ModelConfig::MEAN);
  model->set_activation(ModelConfig::GELU_ERF);
  model->set_norm_epsilon(1e-5f);
  model->set_embedding_stddev(1.0f);
  return config;
}

inline TaskSpec Spec(bool is_pair = false) {
  TaskSpec spec;
  spec.set_vocabulary_size(17);
  spec.set_classes(kClasses);
  spec.set_is_pair(is_pair);
  return spec;
}

inline std::unique_ptr<Classifier> Make(const ExperimentConfig& config,
                                        const TaskSpec& spec = Spec()) {
  auto model = Classifier::Create(config, spec);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

inline at::Tensor Find(const Classifier& model, const std::string& name) {
  for (const auto* list : {&model.parameters().parameters(), &model.parameters().buffers()}) {
    for (const Parameter& parameter : *list) {
      if (parameter.name == name) return parameter.value;
    }
  }
  ADD_FAILURE() << name << " is not there";
  return at::Tensor();
}

using TextList = std::vector<std::vector<int32_t>>;

// Pads to the longest text, or to `length`.
inline int64_t Pad(const TextList& texts, int64_t length, std::vector<int32_t>* tokens,
                   std::vector<int32_t>* lengths) {
  for (const auto& text : texts) {
    lengths->push_back(static_cast<int32_t>(text.size()));
    length = std::max<int64_t>(length, lengths->back());
  }
  for (const auto& text : texts) {
    tokens->insert(tokens->end(), text.begin(), text.end());
    tokens->resize(tokens->size() + length - text.size(), 0);
  }
  return length;
}

inline HostBatch Batch(const TextList& first, const TextList& second = {}, int64_t length = 0) {
  HostBatch batch;
  batch.batch = static_cast<int64_t>(first.size());
  batch.length = Pad(first, length, &batch.tokens, &batch.lengths);
  batch.length_b = Pad(second, length, &batch.tokens_b, &batch.lengths_b);
  for (int64_t b = 0; b < batch.batch; ++b) {
    batch.labels.push_back(0);
    batch.example_ids.push_back(first[b].front() * 100 + b);
  }
  return batch;
}

inline at::Tensor Logits(const Classifier& model, const HostBatch& batch, bool training = false) {
  return model.Forward(batch, {.training = training, .step = 3}).detach();
}

inline void ExpectClose(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_TRUE(at::allclose(a, b, 1e-4, 1e-5)) << a << b;
}

// A model of one text whose logits are its pooled vector.
inline std::unique_ptr<Classifier> PooledOnly(ExperimentConfig config) {
  config.mutable_model()->set_head(ModelConfig::LINEAR);
  TaskSpec spec = Spec();
  spec.set_classes(kWidth);
  auto model = Make(config, spec);
  Find(*model, "head.logits.weight").detach().copy_(at::eye(kWidth));
  return model;
}

inline const TextList kFirst = {{1, 2, 3, 4, 5}, {6, 7}}, kSecond = {{8, 9}, {10, 11, 12, 13}};

}  // namespace lra

#endif  // LRA_MODELS_SMALL_MODEL_TEST_UTIL_H_
