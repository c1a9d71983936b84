#include "models/kernels/linear_map.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "models/base/bfloat16_paths_test_util.h"
#include "models/base/kernel_path.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/packed_weights.h"

namespace lra {
namespace {

constexpr ProductType kFloat32 = ProductType::kFloat32;

// The output, and the gradients of x, weight and bias.
template <class Apply>
std::vector<at::Tensor> Run(const at::Tensor& x, const LinearMap& map, const at::Tensor& upstream,
                            at::ScalarType type, Apply apply) {
  const auto leaf = [&](const at::Tensor& t) {
    return t.defined() ? t.detach().to(type).set_requires_grad(true) : t;
  };
  const at::Tensor input = leaf(x);
  const LinearMap used = {leaf(map.weight), leaf(map.bias)};
  const at::Tensor out = apply(input, used);
  (out * upstream.to(type)).sum().backward();
  std::vector<at::Tensor> result = {out.detach(), input.grad(), used.weight.grad()};
  if (map.bias.defined()) result.push_back(used.bias.grad());
  return result;
}

void ExpectLinear(int64_t in, int64_t out, bool has_bias, double tolerance) {
  const LinearMap map = {at::randn({out, in}), has_bias ? at::randn({out}) : at::Tensor()};
  // Tokens that fill no tile, seen through other strides.
  const at::Tensor x = at::randn({2, in, 331}).transpose(1, 2);
  const at::Tensor upstream = at::randn({2, 331, out});
  const std::vector<at::Tensor> tiled = Run(x, map, upstream, at::kFloat, ApplyLinear);
  const std::vector<at::Tensor> exact =
      Run(x, map, upstream, at::kDouble, [](const at::Tensor& t, const LinearMap& m) {
        return at::linear(t, m.weight, IfDefined(m.bias));
      });
  for (size_t i = 0; i < exact.size(); ++i) {
    const double largest = std::max(1.0, exact[i].abs().max().item<double>());
    EXPECT_LT((tiled[i] - exact[i]).abs().max().item<double>(), tolerance * largest)
        << in << " -> " << out << ", tensor " << i;
  }
}

// A map of one tensor of x, with and without a scope; other threads may use it, too.
at::Tensor Mapped(const at::Tensor& x, const LinearMap& map, PackedWeights* weights,
                  ProductType type) {
  const at::Tensor out = at::empty({x.size(0), map.weight.size(0)});
  const PackedWeightsScope scope(weights);
  const ForwardMap forward(map, type);
  std::thread([&] {
    forward.Rows(x.const_data_ptr<float>(), x.size(0), out.mutable_data_ptr<float>());
  }).join();
  return out;
}

void ExpectKeptWeights(ProductType type) {
  const LinearMap map = {at::randn({70, 600}), at::randn({70})};
  const at::Tensor x = at::randn({3, 600});
  PackedWeights weights({map.bias, map.weight, at::Tensor()});
  EXPECT_NE(weights.Find(map.weight, type), nullptr);
  const at::Tensor expected = Mapped(x, map, nullptr, type);
  EXPECT_TRUE(Mapped(x, map, &weights, type).equal(expected));
  // A weight that changed is laid out anew, but for what writes through a pointer.
  map.weight.mutable_data_ptr<float>()[0] += 1;
  EXPECT_FALSE(Mapped(x, map, nullptr, type).equal(expected));
  EXPECT_TRUE(Mapped(x, map, &weights, type).equal(expected));
  map.weight.mul_(2);
  EXPECT_TRUE(Mapped(x, map, &weights, type).equal(Mapped(x, map, nullptr, type)));
}

TEST(LinearMapTest, WeightsThatAreLaidOutOnceGiveTheSameBits) {
  at::manual_seed(7);
  ExpectKeptWeights(kFloat32);
}

TEST(LinearMapTest, WeightsThatAreRoundedOnceGiveTheSameBits) {
  at::manual_seed(7);
  ForBfloat16Paths([] { ExpectKeptWeights(ProductType::kBfloat16); });
}

// One layout is kept, for the type that was last asked for, and for the path.
TEST(LinearMapTest, WeightsAreLaidOutAnewForAnotherTypeOrPath) {
  const LinearMap map = {at::randn({70, 600}), at::randn({70})};
  const at::Tensor x = at::randn({3, 600});
  PackedWeights weights({map.weight});
  ForBfloat16Paths([&] {
    for (const ProductType type : {ProductType::kBfloat16, ProductType::kFloat32})
      EXPECT_TRUE(Mapped(x, map, &weights, type).equal(Mapped(x, map, nullptr, type)));
  });
}

// Whoever gets the memory of a weight that was given other memory is not that weight.
TEST(LinearMapTest, MemoryOfAWeightIsKept) {
  const at::Tensor weight = at::randn({4, 6});
  const void* const memory = weight.const_data_ptr();
  PackedWeights weights({weight});
  EXPECT_NE(weights.Find(weight, kFloat32), nullptr);
  weight.set_data(at::randn({4, 6}));
  EXPECT_EQ(weights.Find(weight, kFloat32), nullptr);
  std::vector<at::Tensor> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(at::randn({4, 6}));
    EXPECT_NE(others.back().const_data_ptr(), memory);
  }
}

TEST(LinearMapTest, OtherWeightsAreNotTakenForThoseThatAreLaidOut) {
  const at::Tensor weight = at::randn({4, 6});
  PackedWeights weights({weight, at::randn({6, 4}).t(), at::randn({4, 6}, at::kDouble)});
  EXPECT_EQ(weights.Find(at::randn({4, 6}), kFloat32), nullptr);
  EXPECT_EQ(weights.Find(weight.narrow(0, 0, 2), kFloat32),
            nullptr);  // begins where the weight does
  EXPECT_EQ(weights.Find(weight.t(), kFloat32), nullptr);
  EXPECT_EQ(weights.Find(weight.view({6, 4}), kFloat32), nullptr);
  EXPECT_EQ(PackedWeightsScope::Find(weight, kFloat32), nullptr);
  const PackedWeightsScope scope(&weights);
  EXPECT_EQ(PackedWeightsScope::Find(weight, kFloat32), weights.Find(weight, kFloat32));
  {
    const PackedWeightsScope none(nullptr);
    EXPECT_EQ(PackedWeightsScope::Find(weight, kFloat32), nullptr);
  }
  EXPECT_NE(PackedWeightsScope::Find(weight, kFloat32), nullptr);
}

TEST(LinearMapTest, EqualsLinearWithItsGradientsOnEveryPath) {
  at::manual_seed(6);
  for (const KernelPath path : AvailableKernelPaths()) {
    SCOPED_TRACE(KernelPathName(path));
    const ScopedKernelPath use(path);
    for (const bool has_bias : {true, false}) {
      ExpectLinear(64, 128, has_bias, 1e-5);
      ExpectLinear(13, 7, has_bias, 1e-5);
    }
  }
}

TEST(LinearMapTest, Bfloat16ProductsStayNear) {
  at::manual_seed(7);
  ForBfloat16Paths([] {
    const ProductTypeScope bfloat16(true);
    ExpectLinear(64, 128, true, 3.0 / 256);
    ExpectLinear(13, 7, false, 3.0 / 256);
  });
}

}  // namespace
}  // namespace lra
