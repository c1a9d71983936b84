#include "models/next_token_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lra/config.h"
#include "models/base/near_test_util.h"
#include "models/classifier.h"

namespace lra {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kVocabulary = 11;
constexpr double kRounding = 2e-5;

TaskSpec NextSpec() {
  TaskSpec spec;
  spec.set_vocabulary_size(kVocabulary);
  spec.set_classes(kVocabulary);
  spec.set_guesses_tokens(true);
  spec.set_max_length_tokens(16);
  return spec;
}

ExperimentConfig Config(const std::string& attention, const std::vector<std::string>& sets = {}) {
  ConfigBuilder builder("listops");
  EXPECT_TRUE(builder.AddProtocol("fair").ok());
  EXPECT_TRUE(builder.AddPreset("smoke").ok());
  EXPECT_TRUE(builder.AddAttention(attention).ok());
  for (const char* set : {"view.max_length_tokens=16", "model.layers=2", "view.target=NEXT",
                          "attention.causal=true"}) {
    EXPECT_TRUE(builder.Set(set).ok()) << set;
  }
  for (const std::string& set : sets) EXPECT_TRUE(builder.Set(set).ok()) << set;
  const auto resolved = builder.Build();
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved->config;
}

// All tokens of the first example are guessed, of the second one those behind its first two.
HostBatch Batch() {
  HostBatch batch;
  batch.batch = 2;
  batch.length = 6;
  batch.tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0};
  batch.lengths = {6, 4};
  batch.prompts = {0, 2};
  batch.labels = {1, 2, 3, 4, 5, 6, 9, 10};
  batch.example_ids = {0, 1};
  return batch;
}

at::Tensor Logits(const Classifier& model, const HostBatch& batch) {
  const c10::NoGradGuard no_gradient;
  return model.Forward(batch, {});
}

TEST(GuessingRowsTest, AreThePlacesInFrontOfEachTarget) {
  // The vector stands at place 0 of each row of 7, so token n is guessed at place n.
  EXPECT_THAT(GuessingRows(Batch()), ElementsAre(0, 1, 2, 3, 4, 5, 7 + 2, 7 + 3));
}

class CausalAttentionTest : public testing::TestWithParam<std::string> {};

// The output that guesses token t sees none from t on, and does see token t - 1. Neither more
// padding nor the other example changes anything.
TEST_P(CausalAttentionTest, SeesThePastAndNothingElse) {
  const auto model = Classifier::Create(Config(GetParam()), NextSpec());
  ASSERT_TRUE(model.ok()) << model.status();
  const at::Tensor logits = Logits(**model, Batch());
  ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{8, kVocabulary}));
  for (int64_t t = 0; t < 6; ++t) {
    HostBatch changed = Batch();
    for (int64_t n = t; n < 6; ++n) changed.tokens[n] = 11 - changed.tokens[n];
    const at::Tensor other = Logits(**model, changed);
    EXPECT_LE(Worst(logits.narrow(0, 0, t + 1), other.narrow(0, 0, t + 1)), kRounding) << t;
    if (t < 5) {
      EXPECT_GT(Worst(logits.select(0, t + 1), other.select(0, t + 1)), 1e-3) << t;
    }
    EXPECT_LE(Worst(logits.narrow(0, 6, 2), other.narrow(0, 6, 2)), kRounding) << t;
  }
}

TEST_P(CausalAttentionTest, PaddingAndPromptsChangeNoOtherGuess) {
  const auto model = Classifier::Create(Config(GetParam()), NextSpec());
  ASSERT_TRUE(model.ok()) << model.status();
  HostBatch second;
  second.batch = 1;
  second.length = 4;
  second.tokens = {7, 8, 9, 10};
  second.lengths = {4};
  second.prompts = {0};
  second.labels = second.tokens;
  second.example_ids = {1};
  const at::Tensor alone = Logits(**model, second), both = Logits(**model, Batch());
  EXPECT_LE(Worst(alone.narrow(0, 2, 2), both.narrow(0, 6, 2)), kRounding);
}

INSTANTIATE_TEST_SUITE_P(NextToken, CausalAttentionTest,
                         testing::Values("transformer", "linear", "cosformer", "local", "performer",
                                         "cottention", "s4d"));

// On devices numbers of guesses are rounded up, but never above that of all tokens.
TEST(NextTokenModelTest, RowsOfATrainingStep) {
  const at::Device host(at::kCPU), device(at::kPrivateUse1);
  HostBatch batch;
  batch.batch = 4;
  batch.length = 300;
  batch.labels.resize(700);
  EXPECT_EQ(TrainingRows(batch, host), 700);
  EXPECT_EQ(TrainingRows(batch, device), 1024);
  batch.labels.resize(512);
  EXPECT_EQ(TrainingRows(batch, device), 512);
  batch.labels.resize(1100);
  EXPECT_EQ(TrainingRows(batch, device), 1200);
  batch.labels.resize(4);  // labels of examples
  EXPECT_EQ(TrainingRows(batch, device), 4);
}

// The logits of a token are those under which its loss is taken.
TEST(NextTokenModelTest, LearnsToRepeat) {
  const auto model = Classifier::Create(Config("transformer", {"model.dropout=0"}), NextSpec());
  ASSERT_TRUE(model.ok()) << model.status();
  const HostBatch batch = Batch();
  const at::Tensor targets = at::tensor(batch.labels, at::kInt).to(at::kLong);
  double first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    const at::Tensor loss = at::cross_entropy_loss((*model)->Forward(batch, {}), targets);
    loss.backward();
    (step == 0 ? first : last) = loss.item<double>();
    const c10::NoGradGuard no_gradient;
    for (const Parameter& parameter : (*model)->parameters().parameters()) {
      at::Tensor value = parameter.value;
      if (!value.grad().defined()) continue;
      value.sub_(value.grad().sign(), 3e-3);
      value.mutable_grad() = at::Tensor();
    }
  }
  EXPECT_GT(first, 1.5);
  EXPECT_LT(last, 0.2);
}

// Tokens 1 and 4 of the first example are hidden, and the first one of the second.
HostBatch MaskedBatch() {
  HostBatch batch = Batch();
  batch.prompts.clear();
  batch.hidden = {0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0};
  batch.labels = {2, 5, 7};
  for (size_t i = 0; i < batch.hidden.size(); ++i)
    if (batch.hidden[i] != 0) batch.tokens[i] = kVocabulary;
  return batch;
}

TEST(MaskedTokenModelTest, GuessesInTheirPlacesFromBothSides) {
  EXPECT_THAT(GuessingRows(MaskedBatch()), ElementsAre(1, 4, 6));
  TaskSpec spec = NextSpec();
  spec.set_hides_tokens(true);
  spec.set_vocabulary_size(kVocabulary + 1);
  const auto model =
      Classifier::Create(Config("linear", {"view.target=MASKED", "attention.causal=false"}), spec);
  ASSERT_TRUE(model.ok()) << model.status();
  const at::Tensor logits = Logits(**model, MaskedBatch());
  ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{3, kVocabulary}));
  for (const int64_t n : {0, 2, 5}) {
    HostBatch changed = MaskedBatch();
    changed.tokens[n] = 11 - changed.tokens[n];
    const at::Tensor other = Logits(**model, changed);
    EXPECT_GT(Worst(logits.narrow(0, 0, 2), other.narrow(0, 0, 2)), 1e-4) << n;
    EXPECT_LE(Worst(logits[2], other[2]), kRounding) << n;
  }
  EXPECT_THAT((*model)->StartStream(1, StreamKind::kState).status().ToString(),
              HasSubstr("view.target=MASKED"));
}

TEST(MixtureTest, IsOfPixels) {
  const std::vector<std::string> sets = {"model.token_head=LOGISTIC_MIXTURE",
                                         "model.mixture_components=4"};
  TaskSpec spec = NextSpec();
  EXPECT_THAT(Classifier::Create(Config("linear", sets), spec).status().ToString(),
              HasSubstr("model.token_head=LOGISTIC_MIXTURE is of the values"));
  spec.set_image_side_pixels(4);
  spec.set_zero_is_token(true);
  spec.set_vocabulary_size(256);
  spec.set_classes(256);
  const auto model = Classifier::Create(Config("linear", sets), spec);
  ASSERT_TRUE(model.ok()) << model.status();
  const at::Tensor logits = Logits(**model, Batch());
  ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{8, 256}));
  EXPECT_LT(Worst(logits.exp().sum(1), at::ones({8})), 1e-5);
}

TEST(NextTokenModelTest, RefusesWhatWouldSeeWhatItGuesses) {
  const auto refused = [](const std::string& attention, const std::vector<std::string>& sets) {
    return std::string(Classifier::Create(Config(attention, sets), NextSpec()).status().message());
  };
  EXPECT_THAT(refused("transformer", {"attention.causal=false"}),
              HasSubstr("attention.causal is false"));
  EXPECT_THAT(refused("transformer", {"model.norm=BATCH"}), HasSubstr("model.norm=BATCH"));
  EXPECT_THAT(refused("linformer", {}), HasSubstr("causal"));
}

}  // namespace
}  // namespace lra
