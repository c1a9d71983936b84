#include "models/encoder/embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace lra {
namespace {

constexpr int64_t kWidth = 16;

TEST(EmbeddingTest, RealValuesAreMappedLinearly) {
  ExperimentConfig config;
  config.mutable_model()->set_width(kWidth);
  config.mutable_model()->set_positions(ModelConfig::SINUSOID);
  TaskSpec spec;
  spec.set_vocabulary_size(256);
  spec.set_is_real(true);
  ParameterStore store(1);
  const Embedding embedding(config, spec, 32, &store);
  ASSERT_EQ(store.parameters().size(), 2u);
  const at::Tensor weight = store.parameters()[0].value, bias = store.parameters()[1].value;
  EXPECT_EQ(weight.sizes(), at::IntArrayRef({kWidth, 1}));
  bias.detach().copy_(at::arange(kWidth));
  HostBatch batch;
  batch.batch = 2;
  batch.length = 3;
  batch.values = {-1.f, 0.5f, 2.f, 0.f, 0.25f, 1.f};
  batch.lengths = {3, 3};
  const at::Tensor x = embedding.Forward(FirstTexts(batch), DropoutKey());
  const at::Tensor expected = at::tensor(batch.values).view({2, 3, 1}) * weight.view({1, 1, -1}) +
                              bias + SinusoidTable(3, kWidth);
  EXPECT_TRUE(at::allclose(x, expected, 1e-4, 1e-5)) << x << expected;
  // Tokens are refused where values are expected.
  batch.tokens = {1, 2, 3, 4, 5, 6};
  batch.values.clear();
  EXPECT_ANY_THROW(embedding.Forward(FirstTexts(batch), DropoutKey()));
}

at::Tensor TableOf(ModelConfig::EmbeddingStart start) {
  ExperimentConfig config;
  config.mutable_model()->set_width(256);
  config.mutable_model()->set_embedding_stddev(0.5);
  config.mutable_model()->set_embedding_start(start);
  TaskSpec spec;
  spec.set_vocabulary_size(257);
  ParameterStore store(1);
  const Embedding embedding(config, spec, 8, &store);
  EXPECT_EQ(store.parameters().front().name, "embedding.token.weight");
  return store.parameters().front().value.detach();
}

// The mean of the products of two vectors' channels.
double Likeness(const at::Tensor& table, int64_t id, int64_t other) {
  return (table[id] * table[other]).mean().item<double>();
}

TEST(EmbeddingTest, NearValuesOfPixelsBeginAlike) {
  const at::Tensor smooth = TableOf(ModelConfig::SMOOTH);
  EXPECT_NEAR(Likeness(smooth, 100, 100), 0.25, 0.05);
  EXPECT_NEAR(Likeness(smooth, 100, 101), Likeness(smooth, 100, 100), 0.01);
  EXPECT_NEAR(Likeness(smooth, 100, 132), 0.25 * std::exp(-0.5), 0.05);
  EXPECT_NEAR(Likeness(smooth, 100, 250), 0, 0.05);
  const at::Tensor independent = TableOf(ModelConfig::INDEPENDENT);
  EXPECT_NEAR(Likeness(independent, 100, 100), 0.25, 0.06);
  EXPECT_NEAR(Likeness(independent, 100, 101), 0, 0.05);
  EXPECT_TRUE(independent.equal(TableOf(ModelConfig::EMBEDDING_START_UNSPECIFIED)));
}

// Rotary positions are the attention's.
TEST(EmbeddingTest, NothingIsAddedForRotaryPositions) {
  ExperimentConfig config;
  config.mutable_model()->set_width(kWidth);
  config.mutable_model()->set_embedding_stddev(1);
  TaskSpec spec;
  spec.set_vocabulary_size(9);
  HostBatch batch;
  batch.batch = 1;
  batch.length = 4;
  batch.tokens = {3, 1, 3, 8};
  batch.lengths = {4};
  std::vector<at::Tensor> embedded;
  for (const auto positions :
       {ModelConfig::NO_POSITIONS, ModelConfig::ROTARY, ModelConfig::SINUSOID}) {
    config.mutable_model()->set_positions(positions);
    ParameterStore store(1);
    const Embedding embedding(config, spec, 8, &store);
    embedded.push_back(embedding.Forward(FirstTexts(batch), DropoutKey()).detach());
  }
  EXPECT_TRUE(embedded[0].equal(embedded[1]));
  EXPECT_FALSE(embedded[0].equal(embedded[2]));
}

TEST(EmbeddingTest, ConcatenatedPositionsStandBesideTheToken) {
  ExperimentConfig config;
  config.mutable_model()->set_width(kWidth);
  config.mutable_model()->set_embedding_stddev(1);
  config.mutable_model()->set_positions(ModelConfig::CONCATENATED);
  config.mutable_model()->set_pooling(ModelConfig::CLS);
  TaskSpec spec;
  spec.set_vocabulary_size(9);
  ParameterStore store(1);
  const Embedding embedding(config, spec, 8, &store);
  EXPECT_EQ(store.parameters()[0].value.sizes(), at::IntArrayRef({9, kWidth / 2}));
  HostBatch batch;
  batch.batch = 1;
  batch.length = 4;
  batch.tokens = {3, 1, 3, 8};
  batch.lengths = {4};
  const at::Tensor x = embedding.Forward(FirstTexts(batch), DropoutKey())[0];  // [5, E]
  const at::Tensor token = x.narrow(1, 0, kWidth / 2), place = x.narrow(1, kWidth / 2, kWidth / 2);
  EXPECT_TRUE(place.equal(SinusoidTable(5, kWidth / 2)));
  EXPECT_TRUE(token[1].equal(token[3]) && token[1].equal(store.parameters()[0].value[3]));
  EXPECT_EQ(token[0].abs().sum().item<float>(), 0) << "the front vector begins at 0";
  // In pieces the same.
  const at::Tensor ids = at::tensor({3, 1, 3, 8}, at::kLong).view({1, 4});
  EXPECT_TRUE(embedding.Extend(ids.narrow(1, 0, 2), 0, nullptr)[0].equal(x.narrow(0, 0, 3)));
  EXPECT_TRUE(embedding.Extend(ids.narrow(1, 2, 2), 3, nullptr)[0].equal(x.narrow(0, 3, 2)));
}

// The front vector is no token to the stem, and comes in a piece of its own where nothing is given.
TEST(EmbeddingTest, ACausalStemGivesInPiecesWhatItGivesAtOnce) {
  ExperimentConfig config;
  config.mutable_model()->set_width(kWidth);
  config.mutable_model()->set_embedding_stddev(1);
  config.mutable_model()->set_positions(ModelConfig::SINUSOID);
  config.mutable_model()->set_pooling(ModelConfig::CLS);
  config.mutable_model()->set_stem_tokens(3);
  config.mutable_attention()->set_causal(true);
  TaskSpec spec;
  spec.set_vocabulary_size(9);
  ParameterStore store(1);
  const Embedding embedding(config, spec, 8, &store);
  HostBatch batch;
  batch.batch = 1;
  batch.length = 5;
  batch.tokens = {3, 1, 3, 8, 2};
  batch.lengths = {5};
  const at::Tensor whole = embedding.Forward(FirstTexts(batch), DropoutKey());  // [1, 6, E]
  const at::Tensor ids = at::tensor({3, 1, 3, 8, 2}, at::kLong).view({1, 5});
  at::Tensor window = embedding.InitWindow(1, whole.options());
  std::vector<at::Tensor> pieces;
  int64_t place = 0;
  for (const auto& [begin, count] : {std::pair(0, 0), {0, 1}, {1, 2}, {3, 2}}) {
    pieces.push_back(embedding.Extend(ids.narrow(1, begin, count), place, &window));
    EXPECT_EQ(window.sizes(), at::IntArrayRef({1, 2, kWidth}));
    place += pieces.back().size(1);
  }
  EXPECT_TRUE(at::allclose(at::cat(pieces, 1), whole, 1e-5, 1e-6)) << window;
}

// A token's row gets the gradients of all its places; padding gets none, unless it counts.
TEST(EmbeddingTest, ARowsGradientIsTheSumOverItsPlaces) {
  for (const auto& [mask, of_padding] :
       {std::pair(ModelConfig::KEYS, 0), {ModelConfig::NO_MASK, 2}}) {
    ExperimentConfig config;
    config.mutable_model()->set_width(kWidth);
    config.mutable_model()->set_embedding_stddev(1);
    config.mutable_model()->set_mask(mask);
    TaskSpec spec;
    spec.set_vocabulary_size(9);
    ParameterStore store(1);
    const Embedding embedding(config, spec, 8, &store);
    HostBatch batch;
    batch.batch = 2;
    batch.length = 4;
    batch.tokens = {3, 1, 3, 8, 3, 8, 0, 0};
    batch.lengths = {4, 2};
    embedding.Forward(FirstTexts(batch), DropoutKey()).sum().backward();
    const at::Tensor gradient = store.parameters()[0].value.grad();
    const at::Tensor places = at::tensor({of_padding, 1, 0, 3, 0, 0, 0, 0, 2}, at::kFloat);
    EXPECT_TRUE(gradient.equal(places.unsqueeze(1).expand({9, kWidth}))) << gradient;
  }
}

TEST(SinusoidTableTest, OfAnImageHasTheRowThenTheColumn) {
  const at::Tensor line = SinusoidTable(5, 8), square = SinusoidTable2D(5, kWidth);
  EXPECT_EQ(square.sizes(), at::IntArrayRef({25, kWidth}));
  for (const auto& [row, column] : {std::pair(0, 0), {1, 3}, {4, 2}}) {
    const at::Tensor at = square[row * 5 + column];
    EXPECT_TRUE(at.narrow(0, 0, 8).equal(line[row]));
    EXPECT_TRUE(at.narrow(0, 8, 8).equal(line[column]));
  }
}

}  // namespace
}  // namespace lra
