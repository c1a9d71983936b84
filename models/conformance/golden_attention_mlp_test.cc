// The block attention_mlp against the textbook, dense and with whole masks of scores.
#include <ATen/Context.h>
#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lra/config.h"
#include "models/interface/block.h"
#include "models/layers/dropout_sites.h"

namespace lra {
namespace {

constexpr int64_t kBatch = 3, kTokens = 7, kWidth = 12, kHeads = 2;
constexpr double kEpsilon = 1e-5;

ExperimentConfig Config(const std::string& attention = "transformer") {
  ExperimentConfig config;
  *config.mutable_attention() = LoadAttentionFile(attention)->attention();
  ModelConfig* model = config.mutable_model();
  model->set_width(kWidth);
  model->set_heads(kHeads);
  model->set_qkv_width(8);
  model->set_mlp_width(10);
  model->set_activation(ModelConfig::GELU_ERF);
  model->set_norm_epsilon(kEpsilon);
  model->set_mask(ModelConfig::KEYS);
  model->set_norm(ModelConfig::LAYER);
  model->set_norm_placement(ModelConfig::BEFORE);
  return config;
}

// A block and its parameters; biases and norms are moved away from where they start.
struct Made {
  explicit Made(const ExperimentConfig& config) : store(5) {
    BlockContext context = {.model = config.model(), .attention = config.attention()};
    context.max_length_tokens = kTokens;
    context.parameters = &store;
    context.scope = "encoder.layer0.";
    block = BlockRegistry::Get().Create("block", "attention_mlp", context).value();
    for (const Parameter& parameter : store.parameters()) {
      const at::Tensor value = parameter.value.detach();
      if (value.dim() == 1) value.add_(at::linspace(-0.3, 0.3, value.size(0)));
    }
  }
  at::Tensor operator[](const std::string& name) const {
    for (const auto* list : {&store.parameters(), &store.buffers()}) {
      for (const Parameter& parameter : *list) {
        if (parameter.name == "encoder.layer0." + name) return parameter.value.detach();
      }
    }
    ADD_FAILURE() << name << " is not there";
    return at::Tensor();
  }
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& real, const DropoutRun& run) const {
    return block->Forward({x, real, run});
  }
  at::Tensor Dense(const std::string& name, const at::Tensor& x) const {
    const at::Tensor y = at::matmul(x, (*this)[name + ".weight"].t());
    return name.substr(0, 3) == "mlp" ? y + (*this)[name + ".bias"] : y;
  }

  ParameterStore store;
  std::unique_ptr<Block> block;
};

class AttentionMlpTest : public testing::Test {
 protected:
  AttentionMlpTest() {
    at::manual_seed(4);
    x_ = at::randn({kBatch, kTokens, kWidth});
    // A prefix; holes and a padded first token; nothing at all.
    real_ = at::tensor({1, 1, 1, 1, 0, 0, 0,  //
                        0, 1, 0, 1, 1, 0, 1,  //
                        0, 0, 0, 0, 0, 0, 0})
                .view({kBatch, kTokens})
                .to(at::kBool);
  }

  using NormOf = std::function<at::Tensor(const std::string& name, const at::Tensor& x)>;
  NormOf LayerNormOf(const Made& made) const {
    return [&made](const std::string& name, const at::Tensor& x) {
      return at::layer_norm(x, {kWidth}, made[name + ".weight"], made[name + ".bias"], kEpsilon);
    };
  }

  // bias [B, 1, N, N] is added to the scores in float32, as the official program does.
  at::Tensor SelfAttention(const Made& made, const at::Tensor& y, const at::Tensor& bias,
                           const at::Tensor& dropped = at::Tensor()) const {
    const auto heads = [&](const char* name) {
      return made.Dense(name, y).view({kBatch, kTokens, kHeads, -1}).transpose(1, 2);
    };
    const at::Tensor q = heads("attention.query"), k = heads("attention.key");
    at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / std::sqrt(4.0) + bias;
    at::Tensor weights = at::softmax(scores.to(at::kDouble), -1);
    if (dropped.defined()) weights = weights * dropped;
    const at::Tensor out = at::matmul(weights, heads("attention.value").to(at::kDouble));
    return made.Dense("attention.output",
                      out.transpose(1, 2).reshape({kBatch, kTokens, -1}).to(at::kFloat));
  }

  at::Tensor Mlp(const Made& made, const at::Tensor& y) const {
    return made.Dense("mlp.projection", at::gelu(made.Dense("mlp.hidden", y)));
  }

  at::Tensor PreNorm(const Made& made, const at::Tensor& bias, const NormOf& norm,
                     const at::Tensor& dropped = at::Tensor()) const {
    const at::Tensor h = x_ + SelfAttention(made, norm("attention_norm", x_), bias, dropped);
    return h + Mlp(made, norm("mlp_norm", h));
  }

  // -1e10 wherever query or key is padding.
  at::Tensor OuterBias() const {
    const at::Tensor both = real_.unsqueeze(2).logical_and(real_.unsqueeze(1));
    return both.logical_not().unsqueeze(1).to(at::kFloat) * -1e10f;
  }
  static at::Tensor NoBias() { return at::zeros({kBatch, 1, kTokens, kTokens}); }

  static void ExpectClose(const at::Tensor& a, const at::Tensor& b) {
    EXPECT_TRUE(at::allclose(a, b, 1e-4, 1e-5)) << (a - b).abs().amax(-1);
  }

  at::Tensor x_, real_;
};

TEST_F(AttentionMlpTest, OuterMaskIsTheOfficialBias) {
  ExperimentConfig config = Config();
  config.mutable_model()->set_mask(ModelConfig::OUTER);
  const Made made(config);
  const at::Tensor outer = made.Forward(x_, real_, DropoutRun());
  ExpectClose(outer, PreNorm(made, OuterBias(), LayerNormOf(made)));
  // Real queries see what KEYS shows them.
  const Made keys(Config());
  EXPECT_TRUE(
      at::equal(keys.Forward(x_, real_, DropoutRun()).index({real_}), outer.index({real_})));
}

TEST_F(AttentionMlpTest, OuterMaskDropsTheEqualWeightsToo) {
  ExperimentConfig config = Config();
  config.mutable_model()->set_mask(ModelConfig::OUTER);
  const Made made(config);
  DropoutRun run;
  run.weight_probability = 0.4f;
  run.seed = 3;
  run.step = 9;
  run.example_ids = at::tensor({5, 6, 7}, at::kLong);
  run.is_training = true;
  const at::Tensor dropped = WeightDropoutMask(
      run.Key(SiteOf(0, LayerSite::kAttentionWeights), 0.4f), kHeads, kTokens, kTokens);
  EXPECT_GT(dropped.eq(0).sum().item<int64_t>(), 0);
  ExpectClose(made.Forward(x_, real_, run), PreNorm(made, OuterBias(), LayerNormOf(made), dropped));
}

TEST_F(AttentionMlpTest, NoMaskAttendsToPadding) {
  ExperimentConfig config = Config();
  config.mutable_model()->set_mask(ModelConfig::NO_MASK);
  const Made made(config);
  ExpectClose(made.Forward(x_, real_, DropoutRun()), PreNorm(made, NoBias(), LayerNormOf(made)));
}

TEST_F(AttentionMlpTest, WithoutValueProjectionsOuterIsKeys) {
  ExperimentConfig config = Config("fnet");
  config.mutable_model()->set_qkv_width(kWidth);
  const Made keys(config);
  config.mutable_model()->set_mask(ModelConfig::OUTER);
  const Made outer(config);
  EXPECT_TRUE(
      at::equal(keys.Forward(x_, real_, DropoutRun()), outer.Forward(x_, real_, DropoutRun())));
}

TEST_F(AttentionMlpTest, NormsBehindTheBlocks) {
  ExperimentConfig config = Config();
  config.mutable_model()->set_norm_placement(ModelConfig::AFTER);
  const Made made(config);
  const NormOf norm = LayerNormOf(made);
  const at::Tensor h = norm("attention_norm", x_ + SelfAttention(made, x_, NoBias()));
  ExpectClose(made.Forward(x_, at::Tensor(), DropoutRun()), norm("mlp_norm", h + Mlp(made, h)));
}

TEST_F(AttentionMlpTest, BatchNormsBeforeTheBlocks) {
  ExperimentConfig config = Config();
  config.mutable_model()->set_norm(ModelConfig::BATCH);
  const Made made(config);
  const NormOf of_batch = [&](const std::string& name, const at::Tensor& x) {
    return at::batch_norm(x.reshape({-1, kWidth}), made[name + ".weight"], made[name + ".bias"], {},
                          {}, true, 0.1, kEpsilon, false)
        .view_as(x);
  };
  DropoutRun run;
  run.statistics = BatchStatistics::kOfBatch;
  ExpectClose(made.Forward(x_, at::Tensor(), run), PreNorm(made, NoBias(), of_batch));
  const NormOf running = [&](const std::string& name, const at::Tensor& x) {
    return (x - made[name + ".running_mean"]) / (made[name + ".running_var"] + kEpsilon).sqrt() *
               made[name + ".weight"] +
           made[name + ".bias"];
  };
  made["mlp_norm.running_mean"].fill_(0.2);
  made["attention_norm.running_var"].fill_(3);
  ExpectClose(made.Forward(x_, at::Tensor(), DropoutRun()), PreNorm(made, NoBias(), running));
}

// What runs by default, held against the same textbook.
TEST_F(AttentionMlpTest, TheDefaultIsTheTextbooks) {
  const Made made(Config());
  const at::Tensor hidden_keys =
      real_.logical_not().view({kBatch, 1, 1, kTokens}).to(at::kFloat) * -1e10f;
  const at::Tensor expected = PreNorm(made, hidden_keys, LayerNormOf(made));
  const at::Tensor y = made.Forward(x_, real_, DropoutRun());
  ExpectClose(y.narrow(0, 0, 2), expected.narrow(0, 0, 2));
  // Rows without any key get nothing.
  const at::Tensor x = x_[2];
  ExpectClose(y[2], x + Mlp(made, LayerNormOf(made)("mlp_norm", x)));
}

}  // namespace
}  // namespace lra
