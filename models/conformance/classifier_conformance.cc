#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/host_batch.h"
#include "lra/config.h"
#include "lra/random.h"
#include "lra/status_macros.h"
#include "models/base/torch_status.h"
#include "models/block_facts.h"
#include "models/classifier.h"
#include "models/conformance/comparison.h"
#include "models/conformance/conformance.h"
#include "models/conformance/one_thread.h"
#include "models/conformance/try_promise.h"
#include "models/parameter_count.h"

namespace lra {
namespace {

constexpr int kVocabulary = 20;
constexpr int kClasses = 5;
constexpr int kMaxTokens = 64;
// float32 rounding, relative to the largest value compared.
constexpr double kRounding = 5e-5;

// What the models are made of beside their sizes.
struct Parts {
  AttentionConfig attention;
  BlockConfig block;
};

ExperimentConfig MakeConfig(const Parts& parts, ModelConfig::Pooling pooling) {
  ExperimentConfig config;
  config.set_seed(11);
  config.mutable_view()->set_max_length_tokens(kMaxTokens);
  *config.mutable_attention() = parts.attention;
  *config.mutable_block() = parts.block;
  ModelConfig* model = config.mutable_model();
  model->set_layers(2);
  model->set_width(24);
  model->set_heads(2);
  model->set_qkv_width(32);
  model->set_mlp_width(40);
  model->set_head_width(28);
  model->set_positions(pooling == ModelConfig::CLS ? ModelConfig::SINUSOID : ModelConfig::LEARNED);
  model->set_pooling(pooling);
  model->set_activation(pooling == ModelConfig::CLS ? ModelConfig::GELU_TANH
                                                    : ModelConfig::GELU_ERF);
  model->set_attention_bias(pooling == ModelConfig::MEAN);
  model->set_dropout(0.3f);
  model->set_norm_epsilon(1e-6f);
  model->set_embedding_stddev(1.0f);
  return config;
}

// The given examples, padded to the longest plus `pads`. An example's tokens depend on its id only.
HostBatch MakeBatch(const std::vector<int64_t>& ids, int64_t pads) {
  HostBatch batch;
  batch.batch = static_cast<int64_t>(ids.size());
  batch.example_ids = ids;
  for (const int64_t id : ids) {
    batch.lengths.push_back(static_cast<int32_t>(5 + 7 * id % 31));
    batch.labels.push_back(static_cast<int32_t>(id % kClasses));
    batch.length = std::max<int64_t>(batch.length, batch.lengths.back());
  }
  batch.length += pads;
  batch.tokens.assign(batch.batch * batch.length, 0);
  for (int64_t b = 0; b < batch.batch; ++b) {
    RandomStream random(3, RandomDomain::kTest, {static_cast<uint32_t>(ids[b]), 0, 0});
    for (int32_t t = 0; t < batch.lengths[b]; ++t) {
      batch.tokens[b * batch.length + t] = static_cast<int32_t>(random.Between(1, kVocabulary - 1));
    }
  }
  return batch;
}

struct Pass {
  at::Tensor logits;
  std::vector<at::Tensor> gradients;
};

class Suite {
 public:
  Suite(absl::string_view name, std::string variant, const Classifier& model)
      : name_(name), variant_(std::move(variant)), model_(model) {}

  std::vector<ConformanceResult> Run(bool is_padding_invariant) {
    if (is_padding_invariant) {
      Try("M1", [&] { Padding(); });
      Try("M2", [&] { BatchComposition(); });
    }
    Try("M3", [&] { Accumulation(is_padding_invariant); });
    Try("M4", [&] { Determinism(); });
    Try("M5", [&] { Threads(); });
    Try("M6", [&] { Steps(); });
    return std::move(results_);
  }

 private:
  void Add(const char* id, double measured, double bound, absl::string_view detail) {
    results_.push_back(
        {id, name_, measured <= bound, measured, bound, absl::StrCat(variant_, ": ", detail)});
  }
  template <class Body>
  void Try(const char* id, Body body) {
    internal::TryPromise(id, name_, variant_, &results_, body);
  }

  // Sum (not mean) of the losses over the micro-batches, dropout on.
  Pass Train(const std::vector<HostBatch>& micro_batches) const {
    for (const Parameter& p : model_.parameters().parameters())
      at::Tensor(p.value).mutable_grad() = at::Tensor();
    Pass pass;
    std::vector<at::Tensor> logits;
    for (const HostBatch& batch : micro_batches) {
      logits.push_back(model_.Forward(batch, {true, 5}));
      const at::Tensor labels = at::tensor(batch.labels, at::kInt).to(at::kLong);
      at::cross_entropy_loss(logits.back(), labels.to(logits.back().device()), {},
                             at::Reduction::Sum)
          .backward();
    }
    pass.logits = at::cat(logits).detach().cpu();
    for (const Parameter& p : model_.parameters().parameters()) {
      TORCH_CHECK(p.value.grad().defined(), p.name, " got no gradient, which ends a training");
      pass.gradients.push_back(p.value.grad().clone().cpu());
    }
    return pass;
  }

  // Gradients are compared relative to the largest of all parameters': some are zero but for
  // rounding.
  static double Difference(const Pass& a, const Pass& b) {
    double worst = RelativeDifference(a.logits, b.logits, 1.0), largest = 1e-3;
    for (const at::Tensor& gradient : b.gradients)
      largest = std::max(largest, gradient.abs().max().item<double>());
    for (size_t i = 0; i < a.gradients.size(); ++i) {
      worst = std::max(worst, MaxDifference(a.gradients[i], b.gradients[i]) / largest);
    }
    return worst;
  }

  void Padding() {
    const Pass expected = Train({MakeBatch({3}, 0)});
    for (const int64_t pads : {3, 17}) {
      Add("M1", Difference(Train({MakeBatch({3}, pads)}), expected), kRounding,
          absl::StrCat(pads, " pads, training forward and gradients"));
    }
  }

  void BatchComposition() {
    const Pass batch = Train({MakeBatch({1, 2, 3, 4}, 0)});
    double worst = 0;
    for (int64_t id = 1; id <= 4; ++id) {
      const Pass alone = Train({MakeBatch({id}, 0)});
      worst = std::max(worst, RelativeDifference(alone.logits[0], batch.logits[id - 1], 1.0));
    }
    constexpr double kSameLogits = 1e-5;
    Add("M2", worst, kSameLogits, "training forward alone against in a batch");
  }

  // Where padding counts, the halves are padded like the batch.
  void Accumulation(bool is_padding_invariant) {
    const HostBatch batch = MakeBatch({1, 2, 3, 4}, 0);
    const auto half = [&](const std::vector<int64_t>& ids) {
      const int64_t own_length = MakeBatch(ids, 0).length;
      return MakeBatch(ids, is_padding_invariant ? 0 : batch.length - own_length);
    };
    const Pass parts = Train({half({1, 2}), half({3, 4})});
    Add("M3", Difference(parts, Train({batch})), kRounding,
        "gradients of two halves against the batch");
  }

  void Determinism() {
    const Pass first = Train({MakeBatch({1, 2, 3, 4}, 3)}),
               second = Train({MakeBatch({1, 2, 3, 4}, 3)});
    double worst = MaxDifference(first.logits, second.logits);
    for (size_t i = 0; i < first.gradients.size(); ++i) {
      worst = std::max(worst, MaxDifference(first.gradients[i], second.gradients[i]));
    }
    Add("M4", worst, 0, "the same step twice");
  }

  void Threads() {
    const internal::OneThread one_thread;  // at its end there are as many as before
    const Pass one = Train({MakeBatch({1, 2, 3, 4}, 0)});
    at::set_num_threads(2);
    const Pass two = Train({MakeBatch({1, 2, 3, 4}, 0)});
    Add("M5", Difference(two, one), kRounding, "two threads against one");
  }

  void Steps() {
    const HostBatch batch = MakeBatch({1, 2}, 0);
    const auto logits = [&](bool training, uint32_t step) {
      return model_.Forward(batch, {training, step}).detach();
    };
    Add("M6", MaxDifference(logits(false, 1), logits(false, 2)), 0,
        "evaluation does not depend on the step");
    const double change = MaxDifference(logits(true, 1), logits(true, 2));
    constexpr double kVisible = 1e-3;
    Add("M6", change >= kVisible ? 0 : kVisible - change, 0,
        "training masks differ from step to step");
  }

  const std::string name_, variant_;
  const Classifier& model_;
  std::vector<ConformanceResult> results_;
};

// The attention, with dropout of its weights where it has any.
absl::StatusOr<AttentionConfig> WithDropout(absl::string_view name,
                                            const google::protobuf::Any& options) {
  ParameterStore parameters(1);
  AttentionContext context;
  context.heads = 2;
  context.head_width = 16;
  context.max_length_tokens = kMaxTokens + 1;
  context.parameters = &parameters;
  context.options = options;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Attention> attention,
                       AttentionRegistry::Get().Create("attention", name, context));
  AttentionConfig config;
  config.set_name(std::string(name));
  config.set_dropout(attention->traits().supports_weight_dropout ? 0.2f : 0.0f);
  if (!options.type_url().empty()) *config.mutable_options() = options;
  return config;
}

// The first position of an encoder that looks back only knows of no token, so it is not read.
absl::StatusOr<std::vector<ModelConfig::Pooling>> PoolingsFor(const Parts& parts) {
  ExperimentConfig config = MakeConfig(parts, ModelConfig::MEAN);
  FillLegacyValues(&config);
  LRA_ASSIGN_OR_RETURN(const BlockFacts facts, DescribeBlock(config));
  using Poolings = std::vector<ModelConfig::Pooling>;
  return facts.traits.is_causal ? Poolings{ModelConfig::MEAN, ModelConfig::LAST_TOKEN}
                                : Poolings{ModelConfig::MEAN, ModelConfig::CLS, ModelConfig::FIRST};
}

absl::StatusOr<std::vector<ConformanceResult>> CheckModels(absl::string_view name,
                                                           const Parts& parts,
                                                           const CheckSetting& setting) {
  if (!setting.Tries(at::kFloat)) return std::vector<ConformanceResult>();
  TaskSpec spec;
  spec.set_vocabulary_size(kVocabulary);
  spec.set_classes(kClasses);
  std::vector<ConformanceResult> results;
  LRA_ASSIGN_OR_RETURN(const std::vector<ModelConfig::Pooling> poolings, PoolingsFor(parts));
  for (const ModelConfig::Pooling pooling : poolings) {
    LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Classifier> model,
                         Classifier::Create(MakeConfig(parts, pooling), spec));
    LRA_RETURN_IF_ERROR(CatchTorch([&] {
      model->MoveTo(setting.device);
      Suite suite(name, ModelConfig::Pooling_Name(pooling) + " pooling", *model);
      for (ConformanceResult& result : suite.Run(!model->depends_on_padding()))
        results.push_back(std::move(result));
      return absl::OkStatus();
    }));
  }
  return results;
}

}  // namespace

absl::StatusOr<std::vector<ConformanceResult>> CheckClassifier(absl::string_view name,
                                                               const google::protobuf::Any& options,
                                                               const CheckSetting& setting) {
  LRA_ASSIGN_OR_RETURN(const AttentionConfig attention, WithDropout(name, options));
  return CheckModels(name, {attention, {}}, setting);
}

absl::StatusOr<std::vector<ConformanceResult>> CheckBlockInClassifier(
    absl::string_view name, const google::protobuf::Any& options, const CheckSetting& setting) {
  Parts parts;
  parts.block.set_name(std::string(name));
  if (!options.type_url().empty()) *parts.block.mutable_options() = options;
  parts.attention.set_name(kNoAttention);
  absl::StatusOr<std::vector<ConformanceResult>> results = CheckModels(name, parts, setting);
  if (results.ok()) return results;
  LRA_ASSIGN_OR_RETURN(const AttentionFile file, LoadAttentionFile(kReferenceAttention));
  LRA_ASSIGN_OR_RETURN(parts.attention,
                       WithDropout(kReferenceAttention, file.attention().options()));
  return CheckModels(name, parts, setting);
}

}  // namespace lra
