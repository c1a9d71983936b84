// Options of the encoder that published protocols do not have: local filters, poolings, a norm over
// the examples.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/stack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/classifier.h"
#include "models/small_model_test_util.h"

namespace lra {
namespace {

struct Option {
  const char* name;
  void (*apply)(ModelConfig* model);
};
constexpr Option kOptions[] = {
    {"stem", [](ModelConfig* m) { m->set_stem_tokens(4); }},
    {"filter", [](ModelConfig* m) { m->set_attention_filter_tokens(5); }},
    {"max", [](ModelConfig* m) { m->set_pooling(ModelConfig::MAX); }},
    {"query", [](ModelConfig* m) { m->set_pooling(ModelConfig::QUERY); }},
    {"pooled norm", [](ModelConfig* m) { m->set_pooled_norm(ModelConfig::OVER_EXAMPLES); }},
    {"ReLU", [](ModelConfig* m) { m->set_activation(ModelConfig::RELU_MLP); }},
    {"positions beside", [](ModelConfig* m) { m->set_positions(ModelConfig::CONCATENATED); }},
    {"final norm",
     [](ModelConfig* m) {
       m->set_norm_placement(ModelConfig::AFTER);
       m->set_final_norm(true);
     }},
};

ExperimentConfig With(const Option& option, const std::string& attention = "linear") {
  ExperimentConfig config = SmallConfig(attention);
  option.apply(config.mutable_model());
  return config;
}

TEST(EncoderOptionsTest, PaddingDoesNotCount) {
  for (const Option& option : kOptions) {
    for (const auto pooling : {ModelConfig::MEAN, ModelConfig::CLS}) {
      ExperimentConfig config = SmallConfig("linear");
      config.mutable_model()->set_pooling(pooling);
      option.apply(config.mutable_model());
      const auto model = Make(config);
      EXPECT_FALSE(model->depends_on_padding()) << option.name;
      ExpectClose(Logits(*model, Batch(kFirst)), Logits(*model, Batch(kFirst, {}, 12)));
    }
  }
}

TEST(EncoderOptionsTest, TheyChangeTheModelAndLearn) {
  const at::Tensor plain = Logits(*Make(SmallConfig("linear")), Batch(kFirst));
  for (const Option& option : kOptions) {
    const auto model = Make(With(option));
    const at::Tensor logits = model->Forward(Batch(kFirst), {.training = true});
    // A query of zeros pools as the mean does.
    if (option.name != std::string("query")) {
      EXPECT_FALSE(at::allclose(logits, plain, 1e-3, 1e-3)) << option.name;
    }
    logits.square().sum().backward();
    for (const Parameter& p : model->parameters().parameters()) {
      ASSERT_TRUE(p.value.grad().defined()) << option.name << ": " << p.name;
      EXPECT_GT(p.value.grad().abs().sum().item<float>(), 0) << option.name << ": " << p.name;
    }
  }
}

// --- poolings that read the first token alone ---

// Whoever looks inside gets all rows, and the logits that come of them.
at::Tensor LogitsOfAllRows(const Classifier& model, const HostBatch& batch,
                           const ForwardContext& context) {
  at::Tensor logits;
  model.VisitActivations(batch, context, [&](absl::string_view name, const at::Tensor& x) {
    if (name == "logits") logits = x;
  });
  return logits;
}

std::vector<at::Tensor> GradientsOf(const Classifier& model, const at::Tensor& logits) {
  logits.square().sum().backward();
  std::vector<at::Tensor> gradients;
  for (const Parameter& p : model.parameters().parameters()) {
    gradients.push_back(p.value.grad().clone());
    at::Tensor(p.value).mutable_grad() = at::Tensor();
  }
  return gradients;
}

TEST(FirstTokenTest, TheOtherRowsOfTheLastLayerAreNotNeeded) {
  const ForwardContext training = {.training = true, .step = 3};
  for (const char* attention : {"transformer", "linear", "reformer"}) {
    for (const auto pooling : {ModelConfig::CLS, ModelConfig::FIRST}) {
      for (const auto norm : {ModelConfig::LAYER, ModelConfig::BATCH}) {
        ExperimentConfig config = SmallConfig(attention);
        config.mutable_model()->set_pooling(pooling);
        config.mutable_model()->set_norm(norm);
        config.mutable_model()->set_dropout(0.2f);
        const auto model = Make(config);
        const at::Tensor all = LogitsOfAllRows(*model, Batch(kFirst), training);
        const at::Tensor first = model->Forward(Batch(kFirst), training);
        EXPECT_TRUE(at::allclose(first, all, 1e-4, 1e-5)) << attention;
        const auto expected = GradientsOf(*model, all), found = GradientsOf(*model, first);
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_TRUE(at::allclose(found[i], expected[i], 1e-3, 1e-4)) << attention << " " << i;
      }
    }
  }
}

// --- local filters ---

// What the last layer gives at each token of one text.
at::Tensor LastLayer(const Classifier& model, const std::vector<int32_t>& text) {
  at::Tensor last;
  model.VisitActivations(Batch({text}), {}, [&](absl::string_view name, const at::Tensor& x) {
    if (name == "layer 1") last = x.detach()[0];
  });
  return last;
}

TEST(LocalFilterTest, UnderACausalMaskNoLaterTokenIsSeen) {
  for (const char* option : {"stem", "filter"}) {
    for (const bool causal : {false, true}) {
      ExperimentConfig config = With(kOptions[option == std::string("stem") ? 0 : 1]);
      config.mutable_attention()->set_causal(causal);
      const auto model = Make(config);
      const at::Tensor a = LastLayer(*model, {1, 2, 3, 4, 5, 6}),
                       b = LastLayer(*model, {1, 2, 3, 4, 9, 6});
      EXPECT_EQ(at::allclose(a.narrow(0, 0, 4), b.narrow(0, 0, 4), 1e-5, 1e-6), causal) << option;
      EXPECT_FALSE(at::allclose(a[4], b[4], 1e-3, 1e-3)) << option;
    }
  }
}

TEST(LocalFilterTest, TheStemSeesItsTokensOnly) {
  ExperimentConfig config = With(kOptions[0]);
  const auto model = Make(config);
  const auto embedding = [&](const std::vector<int32_t>& text) {
    at::Tensor x;
    model->VisitActivations(Batch({text}), {}, [&](absl::string_view name, const at::Tensor& t) {
      if (name == "embedding") x = t.detach()[0];
    });
    return x;
  };
  const at::Tensor change =
      (embedding({1, 2, 3, 4, 5, 6, 7, 8}) - embedding({1, 2, 3, 9, 5, 6, 7, 8})).abs().amax(1);
  // Four taps: one token before, the token, two behind it.
  for (int64_t n = 0; n < 8; ++n)
    EXPECT_EQ(change[n].item<float>() > 1e-6, n >= 1 && n <= 4) << "token " << n;
}

// --- pooling ---

TEST(PooledNormTest, TakesAwayWhatExamplesHaveInCommon) {
  ExperimentConfig config = With(kOptions[4]);
  const auto model = PooledOnly(config);
  const HostBatch batch = Batch({{1, 2, 3}, {4, 5, 6, 7}, {8, 9}, {10, 11, 12}});
  const at::Tensor pooled = Logits(*model, batch, /*training=*/true);
  EXPECT_TRUE(DependsOnBatch(config));
  EXPECT_EQ(NormsOverExamples(config), "model.pooled_norm=OVER_EXAMPLES");
  ExperimentConfig tokens = config;  // which are not pooled
  tokens.mutable_view()->set_target(DataView::NEXT);
  EXPECT_FALSE(DependsOnBatch(tokens));
  EXPECT_LT(pooled.mean(0).abs().max().item<float>(), 1e-5);
  EXPECT_NEAR(pooled.square().mean().item<float>(), 1, 1e-2);
  // In evaluation an example is by itself again.
  const at::Tensor together = Logits(*model, batch);
  ExpectClose(Logits(*model, Batch({{8, 9}}))[0], together[2]);
}

TEST(SinusoidOfPixelsTest, NeedsAnImage) {
  ExperimentConfig config = SmallConfig("linear");
  config.mutable_model()->set_positions(ModelConfig::SINUSOID_2D);
  EXPECT_THAT(Classifier::Create(config, Spec()).status().ToString(),
              testing::HasSubstr("model.positions: is SINUSOID_2D, but task"));
  TaskSpec spec = Spec();
  spec.set_image_side_pixels(3);
  const auto model = Make(config, spec);
  const HostBatch image = Batch({{1, 2, 3, 4, 5, 6, 7, 8, 9}});
  const HostBatch turned = Batch({{1, 4, 7, 2, 5, 8, 3, 6, 9}});
  EXPECT_FALSE(at::allclose(Logits(*model, image), Logits(*model, turned), 1e-3, 1e-3));
}

}  // namespace
}  // namespace lra
