#include "models/classifier.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lra/config.h"
#include "models/attention/cosformer.pb.h"
#include "models/attention/linear.pb.h"
#include "models/base/runtime.h"
#include "models/base/torch_status.h"
#include "models/block_facts.h"
#include "models/encoder/embedding.h"
#include "models/layers/dropout_sites.h"

namespace lra {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ExperimentConfig SmallConfig() {
  ExperimentConfig config;
  config.set_seed(1);
  config.mutable_view()->set_max_length_tokens(32);
  *config.mutable_attention() = LoadAttentionFile("linear")->attention();
  ModelConfig* model = config.mutable_model();
  model->set_layers(2);
  model->set_width(16);
  model->set_heads(2);
  model->set_qkv_width(16);
  model->set_mlp_width(24);
  model->set_head_width(20);
  model->set_positions(ModelConfig::LEARNED);
  model->set_pooling(ModelConfig::MEAN);
  model->set_activation(ModelConfig::GELU_ERF);
  model->set_dropout(0.1f);
  model->set_norm_epsilon(1e-6f);
  model->set_embedding_stddev(1.0f);
  return config;
}

TaskSpec SmallSpec() {
  TaskSpec spec;
  spec.set_vocabulary_size(17);
  spec.set_classes(10);
  return spec;
}

HostBatch TwoExamples() {
  HostBatch batch;
  batch.batch = 2;
  batch.length = 4;
  batch.tokens = {1, 2, 3, 4, 5, 6, 0, 0};
  batch.lengths = {4, 2};
  batch.labels = {0, 1};
  batch.example_ids = {10, 11};
  return batch;
}

std::string ErrorOf(const ExperimentConfig& config, const TaskSpec& spec) {
  const auto model = Classifier::Create(config, spec);
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << model.status();
  return std::string(model.status().message());
}

// The official ListOps model has vocabulary 17, E 512, q, k and v of 512, MLP 1024, 4 layers, CLS,
// sinusoid positions and no bias in the attention. Its parameters:
//   token table  17 * 512 = 8,704
//   CLS          512
//   each layer   4 * 512 * 512 (q, k, v, output) + 2 * 1,024 (norms)
//                + 512 * 1024 + 1024 + 1024 * 512 + 512 (MLP) = 2,100,736
//   final norm   1,024
//   head         512 * 1024 + 1024 + 1024 * 10 + 10 = 535,562
TEST(ClassifierTest, OfficialListOpsModelHasItsParameterCount) {
  ExperimentConfig config = SmallConfig();
  config.mutable_view()->set_max_length_tokens(2000);
  *config.mutable_attention() = LoadAttentionFile("transformer")->attention();
  ModelConfig* model = config.mutable_model();
  model->set_layers(4);
  model->set_width(512);
  model->set_heads(8);
  model->set_qkv_width(512);
  model->set_mlp_width(1024);
  model->set_head_width(1024);
  model->set_positions(ModelConfig::SINUSOID);
  model->set_pooling(ModelConfig::CLS);
  const auto classifier = Classifier::Create(config, SmallSpec());
  ASSERT_TRUE(classifier.ok()) << classifier.status();
  EXPECT_EQ((*classifier)->parameters().count(), 8948746);
  EXPECT_EQ(8704 + 512 + 4 * 2100736 + 1024 + 535562, 8948746);
}

TEST(ClassifierTest, MethodsWithOneSeedShareTheirParameters) {
  ExperimentConfig other = SmallConfig();
  *other.mutable_attention() = LoadAttentionFile("transformer")->attention();
  const auto a = Classifier::Create(SmallConfig(), SmallSpec()),
             b = Classifier::Create(other, SmallSpec());
  const auto& left = (*a)->parameters().parameters();
  const auto& right = (*b)->parameters().parameters();
  ASSERT_EQ(left.size(), right.size());
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].name, right[i].name);
    EXPECT_TRUE(at::equal(left[i].value, right[i].value));
  }
}

TEST(ClassifierTest, ForwardGivesLogitsAndEveryParameterAGradient) {
  for (const auto pooling : {ModelConfig::MEAN, ModelConfig::CLS, ModelConfig::FIRST}) {
    ExperimentConfig config = SmallConfig();
    config.mutable_model()->set_pooling(pooling);
    const auto model = Classifier::Create(config, SmallSpec());
    const at::Tensor logits = (*model)->Forward(TwoExamples(), {true, 3});
    EXPECT_EQ(logits.sizes(), at::IntArrayRef({2, 10}));
    logits.square().sum().backward();
    for (const Parameter& p : (*model)->parameters().parameters()) {
      ASSERT_TRUE(p.value.grad().defined()) << p.name;
      EXPECT_TRUE(p.value.grad().isfinite().all().item<bool>()) << p.name;
      EXPECT_GT(p.value.grad().abs().sum().item<double>(), 0) << p.name;
    }
    const at::Tensor padding_row = (*model)->parameters().parameters()[0].value.grad()[0];
    EXPECT_EQ(padding_row.abs().sum().item<double>(), 0);
  }
}

TEST(ClassifierTest, VisitsWhatEachLayersAttentionGets) {
  const auto model = Classifier::Create(SmallConfig(), SmallSpec());
  std::vector<at::Tensor> queries;
  (*model)->VisitAttention(
      TwoExamples(), [&](int64_t layer, const Attention& attention, const AttentionInput& input) {
        EXPECT_EQ(layer, static_cast<int64_t>(queries.size()));
        EXPECT_EQ(attention.traits().label, "Linear Transformer");
        EXPECT_EQ(input.k.sizes(), at::IntArrayRef({2, 2, 4, 8}));  // [B, H, N, D]
        EXPECT_EQ(input.keep.sum(1).equal(at::tensor({4, 2}, at::kLong)), true);
        EXPECT_FALSE(input.is_training || input.weight_dropout.active());
        queries.push_back(input.q);
      });
  ASSERT_EQ(queries.size(), 2u);
  EXPECT_FALSE(at::equal(queries[0], queries[1]));
  // The second layer reads the first one's output, so another last token of example 0 changes its
  // query of the first token.
  HostBatch other = TwoExamples();
  other.tokens[3] = 9;
  (*model)->VisitAttention(
      other, [&](int64_t layer, const Attention&, const AttentionInput& input) {
        const bool is_equal = at::equal(input.q[0].select(1, 0), queries[layer][0].select(1, 0));
        EXPECT_EQ(is_equal, layer == 0);
      });
}

// Autocast would round the weights that whoever looks asks the attention for.
TEST(ClassifierTest, VisitsAttentionWithoutAutocast) {
  ExperimentConfig config = SmallConfig();
  config.mutable_numerics()->set_precision(NumericsConfig::BF16);
  const auto model = Classifier::Create(config, SmallSpec());
  int layers = 0;
  (*model)->VisitAttention(TwoExamples(),
                           [&](int64_t, const Attention&, const AttentionInput& input) {
                             EXPECT_FALSE(IsAutocastOn(at::kCPU));
                             EXPECT_EQ(input.q.scalar_type(), at::kFloat);
                             ++layers;
                           });
  EXPECT_EQ(layers, 2);
  EXPECT_FALSE(IsAutocastOn(at::kCPU));
}

TEST(ClassifierTest, LearnsTwoExamplesByHeart) {
  ExperimentConfig config = SmallConfig();
  config.mutable_model()->set_dropout(0);
  const auto model = Classifier::Create(config, SmallSpec());
  const at::Tensor labels = at::tensor({0, 1}, at::kLong);
  double loss = 0;
  for (int step = 0; step < 30; ++step) {
    const at::Tensor value =
        at::cross_entropy_loss((*model)->Forward(TwoExamples(), {true, 0}), labels);
    value.backward();
    loss = value.item<double>();
    for (const Parameter& p : (*model)->parameters().parameters()) {
      at::Tensor(p.value).detach().sub_(p.value.grad() * 0.05);
      at::Tensor(p.value).mutable_grad() = at::Tensor();
    }
  }
  EXPECT_LT(loss, 0.05);
}

TEST(ClassifierTest, RefusesWhatDoesNotFit) {
  ExperimentConfig config = SmallConfig();
  config.mutable_model()->set_heads(3);
  EXPECT_THAT(ErrorOf(config, SmallSpec()),
              HasSubstr("model.qkv_width: is 16, must be a multiple of model.heads, 3"));
  config = SmallConfig();
  config.mutable_model()->clear_width();
  EXPECT_THAT(ErrorOf(config, SmallSpec()), HasSubstr("model.width: is 0"));
  config = SmallConfig();
  config.mutable_attention()->set_name("lineer");
  EXPECT_THAT(ErrorOf(config, SmallSpec()), HasSubstr("linear"));
  config = SmallConfig();
  config.mutable_attention()->set_dropout(0.1f);
  EXPECT_THAT(ErrorOf(config, SmallSpec()), HasSubstr("no explicit weights to drop"));
  config = SmallConfig();
  config.mutable_attention()->mutable_options()->PackFrom(CosformerOptions());
  EXPECT_THAT(ErrorOf(config, SmallSpec()), HasSubstr("attention linear takes lra.LinearOptions"));
  TaskSpec pairs = SmallSpec();
  pairs.set_is_pair(true);
  config = SmallConfig();
  config.mutable_model()->set_pair_head(ModelConfig::CONCATENATION);
  config.mutable_model()->set_head_width(1);
  EXPECT_THAT(ErrorOf(config, pairs), HasSubstr("model.head_width: is 1, must be at least 2"));
}

// A first position that all layers let look back only would give all examples the same logits, or
// those of their first tokens.
TEST(ClassifierTest, RefusesToReadAPositionThatSeesNoToken) {
  struct Blind {
    const char* attention;
    const char* set;
    const char* why;
  };
  for (const Blind& blind :
       {Blind{"linear", "attention.causal=true", "(attention.causal is true)"},
        Blind{"rfa", "attention.options.is_gated=true", "attention.options.is_gated=false"},
        Blind{"s4d", "attention.options.bidirectional=false",
              "attention.options.bidirectional=true"},
        Blind{"sparse", "attention.options.variant=LRA2020",
              "attention.options.opens_first_token=true"}}) {
    SCOPED_TRACE(blind.attention);
    ExperimentConfig config = SmallConfig();
    *config.mutable_attention() = LoadAttentionFile(blind.attention)->attention();
    ASSERT_EQ(SetField(&config, blind.set), absl::OkStatus());
    config.mutable_model()->set_pooling(ModelConfig::CLS);
    EXPECT_THAT(ErrorOf(config, SmallSpec()),
                AllOf(HasSubstr("model.pooling: is CLS, which reads the first position, and that "
                                "sees no token ("),
                      HasSubstr(blind.why), HasSubstr("use LAST_TOKEN, MEAN or MAX")));
    config.mutable_model()->set_pooling(ModelConfig::FIRST);
    EXPECT_THAT(ErrorOf(config, SmallSpec()), HasSubstr("sees the first token alone ("));
    for (const auto pooling : {ModelConfig::LAST_TOKEN, ModelConfig::MEAN}) {
      config.mutable_model()->set_pooling(pooling);
      EXPECT_EQ(Classifier::Create(config, SmallSpec()).status(), absl::OkStatus());
    }
  }
}

TEST(ClassifierTest, RefusesACausalBlockUnderAFirstPosition) {
  ExperimentConfig config = SmallConfig();
  *config.mutable_attention() = AttentionConfig();
  config.mutable_attention()->set_name(kNoAttention);
  config.mutable_attention()->set_causal(true);
  config.mutable_block()->set_name("dilated_convolution");
  *config.mutable_block()->mutable_options() =
      LoadBlockOptions("dilated_convolution", {"circular=false"}).value();
  config.mutable_model()->set_pooling(ModelConfig::CLS);
  EXPECT_THAT(ErrorOf(config, SmallSpec()), HasSubstr("sees no token (attention.causal is true)"));
  config.mutable_attention()->set_causal(false);
  EXPECT_EQ(Classifier::Create(config, SmallSpec()).status(), absl::OkStatus());
}

// What stands in front of the layers, or in them, may look ahead where these do not.
TEST(ClassifierTest, TakesAFirstPositionThatSeesSomething) {
  ExperimentConfig config = SmallConfig();
  *config.mutable_attention() = LoadAttentionFile("sparse")->attention();
  ASSERT_EQ(SetField(&config, "attention.options.variant=LRA2020"), absl::OkStatus());
  config.mutable_model()->set_pooling(ModelConfig::FIRST);
  config.mutable_model()->set_stem_tokens(3);
  EXPECT_EQ(Classifier::Create(config, SmallSpec()).status(), absl::OkStatus());
  config.mutable_model()->set_pooling(ModelConfig::CLS);  // the stem's filters do not reach CLS
  EXPECT_THAT(ErrorOf(config, SmallSpec()), HasSubstr("sees no token"));
  config.mutable_model()->set_attention_filter_tokens(3);
  EXPECT_EQ(Classifier::Create(config, SmallSpec()).status(), absl::OkStatus());
  config.mutable_model()->clear_attention_filter_tokens();
  ASSERT_EQ(SetField(&config, "attention.options.opens_first_token=true"), absl::OkStatus());
  EXPECT_EQ(Classifier::Create(config, SmallSpec()).status(), absl::OkStatus());
}

TEST(ClassifierTest, CosformerRefusesAScaleBelowTheLongestSequence) {
  ExperimentConfig config = SmallConfig();
  *config.mutable_attention() = LoadAttentionFile("cosformer")->attention();
  config.mutable_model()->set_pooling(ModelConfig::CLS);
  // The longest sequence has 33 with CLS.
  ASSERT_TRUE(SetField(&config, "attention.options.scale_tokens=32").ok());
  EXPECT_THAT(ErrorOf(config, SmallSpec()),
              HasSubstr("M = 32 is below the longest sequence, 33 tokens"));
}

TEST(ClassifierTest, BadBatchesAreErrorsNotCrashes) {
  const auto model = Classifier::Create(SmallConfig(), SmallSpec());
  const auto forward = [&](const HostBatch& batch) {
    return CatchTorch([&] {
      (*model)->Forward(batch, {});
      return absl::OkStatus();
    });
  };
  HostBatch batch = TwoExamples();
  batch.tokens[1] = 17;
  EXPECT_THAT(std::string(forward(batch).message()), HasSubstr("token id 17 is outside 0 .. 16"));
  batch = TwoExamples();
  batch.length = 40;
  batch.tokens.assign(80, 1);
  EXPECT_THAT(std::string(forward(batch).message()), HasSubstr("40 tokens exceeds"));
}

TEST(EmbeddingTest, SinusoidTable) {
  const at::Tensor table = SinusoidTable(5, 6);
  EXPECT_FLOAT_EQ(table[0][0].item<float>(), 0);
  EXPECT_FLOAT_EQ(table[0][1].item<float>(), 1);
  EXPECT_FLOAT_EQ(table[3][2].item<float>(), std::sin(3 * std::pow(10000.0, -2.0 / 6)));
  EXPECT_FLOAT_EQ(table[4][5].item<float>(), std::cos(4 * std::pow(10000.0, -4.0 / 6)));
}

TEST(DropoutSitesTest, AreDistinct) {
  EXPECT_EQ(kEmbeddingSite, 0u);
  EXPECT_EQ(SiteOf(0, LayerSite::kAttentionWeights), 1u);
  EXPECT_EQ(SiteOf(1, LayerSite::kAttentionWeights), SiteOf(0, LayerSite::kMlpOutput) + 1);
}

}  // namespace
}  // namespace lra
