#include "models/base/parameters.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lra {
namespace {

TEST(ParameterStoreTest, ValuesDependOnSeedAndNameOnly) {
  ParameterStore first(1), second(1), other_seed(2);
  first.Create("unrelated", {100}, Initializer::Normal(1));
  const at::Tensor a = first.Create("w", {4, 6}, Initializer::XavierUniform());
  EXPECT_TRUE(at::equal(a, second.Create("w", {4, 6}, Initializer::XavierUniform())));
  EXPECT_FALSE(at::equal(a, other_seed.Create("w", {4, 6}, Initializer::XavierUniform())));
  EXPECT_FALSE(at::equal(a, second.Create("w2", {4, 6}, Initializer::XavierUniform())));
}

// The values were computed by a separate Philox in Python. If they change, every training run
// changes.
TEST(ParameterStoreTest, FirstValuesArePinned) {
  ParameterStore store(1);
  const at::Tensor xavier = store.Create("xavier", {2, 4}, Initializer::XavierUniform());
  const at::Tensor normal = store.Create("normal", {3}, Initializer::Normal(0.02));
  const at::Tensor lecun = store.Create("lecun", {3, 5}, Initializer::LecunNormal());
  const auto first = [](const at::Tensor& t) {
    const at::Tensor flat = t.detach().flatten();
    return std::vector<float>(flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + 3);
  };
  using testing::FloatEq;
  EXPECT_THAT(first(xavier), testing::ElementsAre(FloatEq(-0.009097223f), FloatEq(0.93123257f),
                                                  FloatEq(0.812813f)));
  EXPECT_THAT(first(normal), testing::ElementsAre(FloatEq(0.0056977396f), FloatEq(-0.0063702f),
                                                  FloatEq(0.003045238f)));
  EXPECT_THAT(first(lecun), testing::ElementsAre(FloatEq(-0.123143965f), FloatEq(0.028392687f),
                                                 FloatEq(-0.5793871f)));
}

TEST(ParameterStoreTest, DistributionsHaveTheirMoments) {
  ParameterStore store(3);
  const at::Tensor xavier = store.Create("a", {300, 500}, Initializer::XavierUniform()).detach();
  const double limit = std::sqrt(6.0 / 800);
  EXPECT_LE(xavier.abs().max().item<double>(), limit);
  EXPECT_GT(xavier.abs().max().item<double>(), 0.999 * limit);
  EXPECT_NEAR(xavier.std().item<double>(), limit / std::sqrt(3.0), 0.01 * limit);
  const at::Tensor lecun = store.Create("b", {400, 250}, Initializer::LecunNormal()).detach();
  EXPECT_NEAR(lecun.std().item<double>(), 1 / std::sqrt(250.0), 0.0005);
  EXPECT_LE(lecun.abs().max().item<double>(), 2 / std::sqrt(250.0) / 0.8796);
  const at::Tensor normal = store.Create("c", {100000}, Initializer::Normal(0.02)).detach();
  EXPECT_NEAR(normal.std().item<double>(), 0.02, 0.0002);
  EXPECT_NEAR(normal.mean().item<double>(), 0, 0.0003);
}

// Means over many columns, each of which is a wave of its own.
TEST(ParameterStoreTest, SmoothColumnsAreAsAlikeAsTheirRowsAreNear) {
  ParameterStore store(3);
  const at::Tensor smooth =
      store.Create("a", {257, 20000}, Initializer::Smooth(0.5, 32)).detach().to(at::kDouble);
  for (const int64_t row : {0, 100}) {
    for (const int64_t distance : {0, 1, 32, 64, 150}) {
      const double covariance = (smooth[row] * smooth[row + distance]).mean().item<double>();
      const double expected = 0.25 * std::exp(-0.5 * std::pow(distance / 32.0, 2));
      EXPECT_NEAR(covariance, expected, 0.006) << row << " " << distance;
    }
    EXPECT_NEAR(smooth[row].mean().item<double>(), 0, 0.012);
  }
}

// Whoever made an adopted value and the store have one tensor: it moves, and what it holds is seen
// on both sides.
TEST(ParameterStoreTest, AdoptsValuesOfOthers) {
  ParameterStore store(1);
  const at::Tensor weight = at::full({2, 3}, 0.5f).set_requires_grad(true);
  const at::Tensor table = at::full({4}, 2.0f);
  store.Adopt("w", weight, /*is_matrix=*/true, ParameterRole::kNorm);
  store.AdoptBuffer("t", table);
  ASSERT_EQ(store.parameters().size(), 1);
  const Parameter& kept = store.parameters()[0];
  EXPECT_TRUE(kept.value.is_same(weight) && kept.is_matrix && kept.role == ParameterRole::kNorm);
  EXPECT_TRUE(store.buffers().at(0).value.is_same(table));
  EXPECT_EQ(store.count(), 6);
  store.MoveTo(at::kCPU);
  EXPECT_TRUE(store.parameters()[0].value.is_same(weight) && weight.requires_grad());
  EXPECT_DEATH(store.AdoptBuffer("w", table), "exists already");
  EXPECT_DEATH(store.Adopt("d", weight.detach(), false, ParameterRole::kWeight), "check failed");
  EXPECT_DEATH(store.Adopt("v", weight, true, ParameterRole::kWeight), "v is the tensor of w");
}

// The bound of torch.nn.Linear's weights and biases is 1 / sqrt(fan_in), and their deviation that
// of a uniform distribution.
TEST(ParameterStoreTest, PyTorchsLinearLayersAreUniformWithinTheirFanIn) {
  ParameterStore store(3, LinearValues::kPyTorch);
  const auto expect_uniform = [](const at::Tensor& values, double limit) {
    EXPECT_LE(values.abs().max().item<double>(), limit);
    EXPECT_GT(values.abs().max().item<double>(), 0.999 * limit);
    EXPECT_NEAR(values.std().item<double>(), limit / std::sqrt(3.0), 0.01 * limit);
    EXPECT_NEAR(values.mean().item<double>(), 0, 0.01 * limit);
  };
  for (const Initializer weight : {Initializer::XavierUniform(), Initializer::LecunNormal()}) {
    const std::string name = weight.kind == Initializer::Kind::kLecunNormal ? "lecun" : "xavier";
    store.Create(name, {400, 250}, weight);
    EXPECT_TRUE(store.parameters().back().is_matrix);
    expect_uniform(store.parameters().back().value.detach(), 1 / std::sqrt(250.0));
  }
  expect_uniform(store.Create("bias", {100000}, Initializer::Bias(250)).detach(),
                 1 / std::sqrt(250.0));
  const at::Tensor normal = store.Create("normal", {100000}, Initializer::Normal(0.02)).detach();
  EXPECT_NEAR(normal.std().item<double>(), 0.02, 0.0002) << "only linear layers differ";
  ParameterStore glorot(3);
  EXPECT_EQ(glorot.Create("bias", {100}, Initializer::Bias(250)).abs().max().item<double>(), 0);
}

TEST(ParameterStoreTest, MatricesOfHeadsAreDrawnAsOneAlone) {
  for (const LinearValues values : {LinearValues::kGlorot, LinearValues::kPyTorch}) {
    ParameterStore store(3, values), other(3, values);
    const at::Tensor of_heads = store.Create("w", {5, 30, 50}, Initializer::XavierUniform());
    const at::Tensor alone = other.Create("w", {30, 50}, Initializer::XavierUniform());
    EXPECT_TRUE(at::equal(of_heads[0], alone));
    EXPECT_NEAR(of_heads.abs().max().item<double>(), alone.abs().max().item<double>(), 2e-3);
    EXPECT_TRUE(store.parameters()[0].is_matrix);
  }
}

TEST(ParameterStoreTest, Constants) {
  ParameterStore store(1);
  const at::Tensor half = store.Create("m", {3}, Initializer::Constant(0.5));
  EXPECT_TRUE(at::equal(half, at::full({3}, 0.5f)));
  EXPECT_FALSE(store.parameters()[0].is_matrix);
}

TEST(ParameterStoreTest, KnowsMatricesAndCounts) {
  ParameterStore store(1);
  store.Create("w", {4, 6}, Initializer::XavierUniform());
  store.Create("embedding", {5, 6}, Initializer::Normal(1));
  store.Create("bias", {6}, Initializer::Zeros());
  store.Create("scale", {6}, Initializer::Ones());
  EXPECT_EQ(store.count(), 24 + 30 + 6 + 6);
  std::vector<bool> is_matrix;
  for (const Parameter& p : store.parameters()) {
    is_matrix.push_back(p.is_matrix);
    EXPECT_TRUE(p.value.is_leaf() && p.value.requires_grad());
  }
  EXPECT_THAT(is_matrix, testing::ElementsAre(true, false, false, false));
  EXPECT_EQ(store.parameters()[2].value.abs().sum().item<double>(), 0);
  EXPECT_EQ(store.parameters()[3].value.sum().item<double>(), 6);
}

TEST(ParameterStoreTest, BuffersAreDrawnAlikeButNotTrained) {
  ParameterStore store(1), other(1);
  const at::Tensor buffer = store.CreateBuffer("w", {4, 6}, Initializer::Normal(1));
  EXPECT_TRUE(buffer.equal(other.Create("w", {4, 6}, Initializer::Normal(1)).detach()));
  EXPECT_FALSE(buffer.requires_grad());
  EXPECT_EQ(store.count(), 0);
  EXPECT_TRUE(store.parameters().empty());
  ASSERT_EQ(store.buffers().size(), 1u);
  EXPECT_EQ(store.buffers()[0].name, "w");
}

// Tensors that were handed out must follow the store to another device; a copy on the same device
// stands in for that.
TEST(ParameterStoreTest, MovingKeepsTheTensorsThatWereHandedOut) {
  ParameterStore store(1);
  const at::Tensor weight = store.Create("w", {2}, Initializer::Ones(), ParameterRole::kStateSpace);
  EXPECT_EQ(store.parameters()[0].role, ParameterRole::kStateSpace);
  store.MoveTo(at::kCPU);
  EXPECT_TRUE(weight.is_same(store.parameters()[0].value));
  EXPECT_TRUE(weight.is_leaf() && weight.requires_grad());
  EXPECT_EQ(weight.sum().item<double>(), 2);
}

TEST(ParameterStoreDeathTest, NamesAreUnique) {
  ParameterStore store(1);
  store.Create("w", {2}, Initializer::Zeros());
  EXPECT_DEATH(store.Create("w", {2}, Initializer::Zeros()), "\"w\" exists already");
  EXPECT_DEATH(store.CreateBuffer("w", {2}, Initializer::Zeros()), "\"w\" exists already");
}

}  // namespace
}  // namespace lra
