#include "bench/measure/step_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

#include "lra/config.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "models/base/device_work.h"
#include "models/base/runtime.h"
#include "models/block_facts.h"

namespace lra {
namespace {

constexpr int kClasses = 10;
constexpr int kVocabulary = 512;

void SetModel(const BenchRequest& request, ModelConfig* model) {
  model->set_layers(request.layers());
  model->set_width(request.heads() * request.head_width());
  model->set_heads(request.heads());
  model->set_qkv_width(model->width());
  model->set_mlp_width(request.mlp_width());
  model->set_head_width(request.mlp_width());
  model->set_positions(ModelConfig::LEARNED);
  model->set_pooling(ModelConfig::MEAN);
  model->set_activation(ModelConfig::GELU_ERF);
  model->set_attention_bias(true);
  model->set_dropout(static_cast<float>(request.dropout()));
  model->set_norm_epsilon(1e-5f);
  model->set_embedding_stddev(1.0f);
}

// AdamW without clipping.
OptimizerConfig StepOptimizer() {
  OptimizerConfig config;
  config.set_kind(OptimizerConfig::ADAM);
  config.set_decay(OptimizerConfig::DECOUPLED);
  config.set_decay_scope(OptimizerConfig::ALL_PARAMETERS);
  config.set_beta1(0.9f);
  config.set_beta2(0.999f);
  config.set_epsilon(1e-8f);
  config.set_weight_decay(0.01f);
  return config;
}

// The attention with its options, or a block without one.
absl::Status SetMethod(const BenchRequest& request, ExperimentConfig* config) {
  const std::vector<std::string> options(request.options().begin(), request.options().end());
  AttentionConfig* attention = config->mutable_attention();
  if (request.block().empty()) {
    LRA_ASSIGN_OR_RETURN(const AttentionFile file, LoadAttentionFile(request.attention()));
    *attention = file.attention();
    LRA_ASSIGN_OR_RETURN(
        *attention->mutable_options(),
        SetOptions("attention", request.attention(), file.attention().options(), options));
    return absl::OkStatus();
  }
  attention->set_name(request.attention());
  config->mutable_block()->set_name(request.block());
  LRA_ASSIGN_OR_RETURN(*config->mutable_block()->mutable_options(),
                       LoadBlockOptions(request.block(), options));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ExperimentConfig> StepConfig(const BenchRequest& request) {
  ExperimentConfig config;
  config.set_seed(1);
  config.mutable_view()->set_max_length_tokens(static_cast<int>(request.tokens()));
  LRA_RETURN_IF_ERROR(SetMethod(request, &config));
  AttentionConfig* attention = config.mutable_attention();
  if (request.causal()) attention->set_causal(true);
  if (request.weight_dropout() > 0)
    attention->set_dropout(static_cast<float>(request.weight_dropout()));
  SetModel(request, config.mutable_model());
  config.mutable_numerics()->set_precision(request.precision());
  *config.mutable_optimizer() = StepOptimizer();
  FillLegacyValues(&config);
  return config;
}

TaskSpec StepTask() {
  TaskSpec spec;
  spec.set_vocabulary_size(kVocabulary);
  spec.set_classes(kClasses);
  return spec;
}

HostBatch StepBatch(const BenchRequest& request) {
  HostBatch batch;
  batch.batch = request.batch();
  batch.length = request.tokens();
  batch.tokens.assign(batch.batch * batch.length, 0);
  for (int64_t b = 0; b < batch.batch; ++b) {
    RandomStream stream(1, RandomDomain::kTest, {static_cast<uint32_t>(b), 0, 0});
    const int64_t cut =
        request.padded() ? batch.length / 2 * b / std::max<int64_t>(1, batch.batch - 1) : 0;
    batch.lengths.push_back(static_cast<int32_t>(batch.length - cut));
    batch.labels.push_back(static_cast<int32_t>(stream.Below(kClasses)));
    batch.example_ids.push_back(b);
    for (int64_t t = 0; t < batch.length - cut; ++t)
      batch.tokens[b * batch.length + t] = static_cast<int32_t>(1 + stream.Below(255));
  }
  return batch;
}

StepModel::StepModel(const ExperimentConfig& config, HostBatch batch,
                     std::unique_ptr<Classifier> model)
    : config_(config),
      batch_(std::move(batch)),
      model_(std::move(model)),
      optimizer_(config_.optimizer(), model_->parameters()),
      labels_(at::tensor(batch_.labels, at::kInt).to(model_->parameters().device(), at::kLong)) {}

absl::StatusOr<std::unique_ptr<StepModel>> StepModel::Create(const BenchRequest& request) {
  LRA_ASSIGN_OR_RETURN(const at::Device device, OpenDevice(request.device()));
  LRA_RETURN_IF_ERROR(SetTf32For(request.precision() == NumericsConfig::TF32, device));
  LRA_ASSIGN_OR_RETURN(const ExperimentConfig config, StepConfig(request));
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Classifier> model, Classifier::Create(config, StepTask()));
  model->MoveTo(device);
  return std::unique_ptr<StepModel>(new StepModel(config, StepBatch(request), std::move(model)));
}

void StepModel::Train() {
  optimizer_.ZeroGradients();
  const at::Tensor logits = model_->Forward(batch_, {.training = true, .step = step_++});
  at::cross_entropy_loss(logits, labels_).backward();
  Update();
}

void StepModel::Evaluate() const {
  const c10::NoGradGuard no_gradient;
  model_->Forward(batch_, {});
}

void StepModel::Update() { optimizer_.Step(kSchedule); }

}  // namespace lra
