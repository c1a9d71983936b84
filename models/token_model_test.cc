#include "models/token_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "lra/config.h"
#include "models/base/near_test_util.h"
#include "models/classifier.h"

namespace lra {
namespace {

constexpr int kTokenVocabulary = 11;

TaskSpec TokenSpec() {
  TaskSpec spec;
  spec.set_vocabulary_size(kTokenVocabulary);
  spec.set_classes(3);
  spec.set_max_length_tokens(16);
  return spec;
}

ExperimentConfig TokenConfig(const std::string& attention, const std::vector<std::string>& sets) {
  ConfigBuilder builder("listops");
  EXPECT_TRUE(builder.AddProtocol("fair").ok());
  EXPECT_TRUE(builder.AddPreset("smoke").ok());
  EXPECT_TRUE(builder.AddAttention(attention).ok());
  for (const char* set : {"view.max_length_tokens=16", "model.layers=2", "pretrain.examples=40",
                          "pretrain.learning_rate=1e-3", "pretrain.masked_fraction=0.5",
                          "pretrain.objective=MASKED"}) {
    EXPECT_TRUE(builder.Set(set).ok()) << set;
  }
  for (const std::string& set : sets) EXPECT_TRUE(builder.Set(set).ok()) << set;
  const auto resolved = builder.Build();
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved->config;
}

// Two examples, of 6 and 4 tokens.
HostBatch TokenBatch() {
  HostBatch batch;
  batch.batch = 2;
  batch.length = 6;
  batch.tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0};
  batch.lengths = {6, 4};
  batch.labels = {0, 1};
  batch.example_ids = {0, 1};
  return batch;
}

// The same two examples as second texts, with first texts of another length.
HostBatch PairBatch() {
  HostBatch batch = TokenBatch();
  batch.length_b = batch.length;
  batch.tokens_b = batch.tokens;
  batch.lengths_b = batch.lengths;
  batch.length = 3;
  batch.tokens = {3, 2, 1, 5, 0, 0};
  batch.lengths = {3, 1};
  return batch;
}

at::Tensor Logits(const TokenModel& model, const HostBatch& batch,
                  const std::vector<uint8_t>& hidden, const std::vector<int64_t>& positions,
                  int column = 0) {
  const c10::NoGradGuard no_gradient;
  return model.Forward(batch, {column, hidden, positions}, {});
}

class PoolingTest : public testing::TestWithParam<std::string> {};

// Runs with and without a CLS vector in front.
TEST_P(PoolingTest, WhatIsHiddenHasNoSayAndWhatIsShownHas) {
  const auto model =
      TokenModel::Create(TokenConfig("transformer", {"model.pooling=" + GetParam()}), TokenSpec());
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<uint8_t> hidden = {0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0};
  const at::Tensor logits = Logits(**model, TokenBatch(), hidden, {2, 7});
  ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{2, kTokenVocabulary}));
  HostBatch other = TokenBatch();
  other.tokens[2] = 9, other.tokens[7] = 1;
  EXPECT_EQ(Worst(Logits(**model, other, hidden, {2, 7}), logits), 0);
  other = TokenBatch();
  other.tokens[0] = 9;
  const at::Tensor changed = Logits(**model, other, hidden, {2, 7});
  EXPECT_GT(Worst(changed[0], logits[0]), 1e-4);
  EXPECT_EQ(Worst(changed[1], logits[1]), 0) << "another example";
}

TEST_P(PoolingTest, CausalGuessesLookBackOnly) {
  const auto model = TokenModel::Create(
      TokenConfig("linear", {"model.pooling=" + GetParam(), "pretrain.objective=CAUSAL"}),
      TokenSpec());
  ASSERT_TRUE(model.ok()) << model.status();
  const at::Tensor logits = Logits(**model, TokenBatch(), {}, {0, 1, 2, 3});
  HostBatch other = TokenBatch();
  other.tokens[2] = 9;
  const at::Tensor changed = Logits(**model, other, {}, {0, 1, 2, 3});
  EXPECT_LT(Worst(changed.narrow(0, 0, 2), logits.narrow(0, 0, 2)), 1e-6);
  EXPECT_GT(Worst(changed.narrow(0, 2, 2), logits.narrow(0, 2, 2)), 1e-4);
}

TEST_P(PoolingTest, SecondTextsAreReadAsOnlyOnesAreWithDropoutOfTheirOwn) {
  const auto model = TokenModel::Create(
      TokenConfig("transformer", {"model.pooling=" + GetParam(), "model.dropout=0.3"}),
      TokenSpec());
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<uint8_t> hidden = {0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0};
  EXPECT_EQ(Worst(Logits(**model, PairBatch(), hidden, {2, 7}, 1),
                  Logits(**model, TokenBatch(), hidden, {2, 7})),
            0);
  const c10::NoGradGuard no_gradient;
  const at::Tensor only = (*model)->Forward(TokenBatch(), {0, hidden, {2, 7}}, {.training = true});
  const at::Tensor second = (*model)->Forward(PairBatch(), {1, hidden, {2, 7}}, {.training = true});
  EXPECT_GT(Worst(second, only), 1e-3);
}

TEST_P(PoolingTest, VisitsWhatItComputes) {
  const auto model = TokenModel::Create(
      TokenConfig("transformer", {"model.pooling=" + GetParam(), "model.dropout=0.3"}),
      TokenSpec());
  ASSERT_TRUE(model.ok()) << model.status();
  const c10::NoGradGuard no_gradient;
  const ForwardContext context = {.training = true, .step = 3};
  for (const int column : {0, 1}) {
    const TokenPlaces places = {column, {}, {0, 2}};
    std::vector<std::string> names;
    at::Tensor last;
    (*model)->VisitActivations(PairBatch(), places, context,
                               [&](absl::string_view name, const at::Tensor& value) {
                                 names.emplace_back(name);
                                 last = value;
                               });
    std::vector<std::string> expected = {"embedding",         "layer 0 attention", "layer 0",
                                         "layer 1 attention", "layer 1",           "logits"};
    if (column == 1) {
      for (std::string& name : expected) name = "second text: " + name;
    }
    EXPECT_EQ(names, expected);
    EXPECT_EQ(Worst(last, (*model)->Forward(PairBatch(), places, context)), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Poolings, PoolingTest, testing::Values("MEAN", "CLS"),
                         [](const auto& info) { return info.param; });

TEST(TokenModelTest, PaddingHasNoSay) {
  const auto model = TokenModel::Create(TokenConfig("transformer", {}), TokenSpec());
  ASSERT_TRUE(model.ok()) << model.status();
  HostBatch alone;
  alone.batch = 1;
  alone.length = 4;
  alone.tokens = {7, 8, 9, 10};
  alone.lengths = {4};
  alone.labels = {1};
  alone.example_ids = {1};
  EXPECT_LT(Worst(Logits(**model, alone, {0, 1, 0, 0}, {1}),
                  Logits(**model, TokenBatch(), {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, {7})),
            1e-5);
}

TEST(TokenModelTest, AClassifierTakesWhatItShares) {
  const ExperimentConfig config = TokenConfig("transformer", {});
  const auto tokens = TokenModel::Create(config, TokenSpec());
  const auto classifier = Classifier::Create(config, TokenSpec());
  ASSERT_TRUE(tokens.ok() && classifier.ok());
  {
    const c10::NoGradGuard no_gradient;
    for (const Parameter& p : (*tokens)->parameters().parameters()) at::Tensor(p.value).fill_(0.5);
  }
  CopySharedParameters((*tokens)->parameters(), (*classifier)->parameters());
  int shared = 0;
  for (const Parameter& p : (*classifier)->parameters().parameters()) {
    const bool is_own = p.name.rfind("head.", 0) == 0;
    EXPECT_EQ(p.value.eq(0.5).all().item<bool>(), !is_own) << p.name;
    shared += is_own ? 0 : 1;
  }
  // All parameters are shared except the classifier's head and the token model's own.
  EXPECT_EQ(shared + 2, static_cast<int>((*tokens)->parameters().parameters().size()));
}

TEST(TokenModelTest, RefusesWhatCannotGuess) {
  TaskSpec real = TokenSpec();
  real.set_is_real(true);
  EXPECT_THAT(
      std::string(TokenModel::Create(TokenConfig("transformer", {}), real).status().message()),
      testing::HasSubstr("view.pixels=REAL"));
  EXPECT_THAT(std::string(TokenModel::Create(TokenConfig("fnet", {"pretrain.objective=CAUSAL"}),
                                             TokenSpec())
                              .status()
                              .message()),
              testing::HasSubstr("has no causal form"));
  const auto refusal = [](const std::vector<std::string>& sets) {
    std::vector<std::string> all = {"pretrain.objective=CAUSAL"};
    all.insert(all.end(), sets.begin(), sets.end());
    return std::string(
        TokenModel::Create(TokenConfig("linear", all), TokenSpec()).status().message());
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(refusal({"model.norm=BATCH"}), testing::HasSubstr("model.norm=BATCH takes its"));
}

// In a causal encoder the last tap of a filter is its own token's, in another one a middle tap.
TEST(TokenModelTest, RefusesTapsThatLabelsWouldTakeForOthers) {
  const std::vector<std::string> convolutions = {"block.name=dilated_convolution",
                                                 "block.options.circular=false"};
  const auto status = [](const std::string& attention, std::vector<std::string> sets,
                         const std::string& set) {
    sets.push_back(set);
    return TokenModel::Create(TokenConfig(attention, sets), TokenSpec()).status();
  };
  const std::tuple<std::string, std::vector<std::string>, std::string> taps[] = {
      {"linear", {"model.stem_tokens=3"}, "(model.stem_tokens)"},
      {"linear", {"model.attention_filter_tokens=3"}, "(model.attention_filter_tokens)"},
      {"none", convolutions, "(block.options.kernel_tokens)"}};
  for (const auto& [attention, sets, field] : taps) {
    const absl::Status refused = status(attention, sets, "pretrain.objective=CAUSAL");
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << field << refused;
    EXPECT_THAT(std::string(refused.message()),
                testing::AllOf(testing::HasSubstr("pretrain.objective: is CAUSAL, but "),
                               testing::HasSubstr(field)));
    EXPECT_EQ(status(attention, sets, "pretrain.objective=MASKED"), absl::OkStatus()) << field;
    std::vector<std::string> causal = sets;
    causal.push_back("attention.causal=true");
    EXPECT_EQ(status(attention, causal, "pretrain.objective=CAUSAL"), absl::OkStatus()) << field;
  }
  EXPECT_EQ(status("linear", {"model.stem_tokens=1"}, "pretrain.objective=CAUSAL"),
            absl::OkStatus());
}

}  // namespace
}  // namespace lra
