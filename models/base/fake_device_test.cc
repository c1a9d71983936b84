#include "models/base/fake_device.h"

#include <ATen/ATen.h>
#include <ATen/TensorIndexing.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/base/fake_device_test_util.h"
#include "models/base/parameters.h"
#include "models/base/runtime.h"

namespace lra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class FakeDeviceTest : public testing::Test {
 protected:
  void SetUp() override { TakeFakeDeviceWork(); }
  static at::Tensor Numbers(at::IntArrayRef shape) {
    return at::arange(at::Tensor(at::empty(shape)).numel(), at::kFloat).view(shape);
  }
  const at::Device device_ = FakeDevice();
};

TEST_F(FakeDeviceTest, CarriesItsName) {
  EXPECT_EQ(device_.str(), "fake:0");
  EXPECT_EQ(OpenDevice("fake").value(), device_);
}

TEST(DeviceOfPlaceTest, CardsInTurn) {
  EXPECT_EQ(DeviceOfPlace("cuda", 0, 2), "cuda:0");
  EXPECT_EQ(DeviceOfPlace("cuda", 3, 2), "cuda:1");
  EXPECT_EQ(DeviceOfPlace("cuda", 7, 8), "cuda:7");
  EXPECT_EQ(DeviceOfPlace("cuda:1", 3, 2), "cuda:1");  // as it was asked for
  EXPECT_EQ(DeviceOfPlace("fake", 3, 2), "fake");
  EXPECT_EQ(CardsOf("fake").value(), 1);
}

TEST_F(FakeDeviceTest, ComputesWhatTheHostDoes) {
  const at::Tensor x = Numbers({3, 4}) / 7, w = Numbers({4, 5}) / 9;
  const at::Tensor on_device = at::matmul(x.to(device_), w.to(device_)).softmax(-1);
  EXPECT_EQ(on_device.device(), device_);
  EXPECT_TRUE(on_device.cpu().equal(at::matmul(x, w).softmax(-1)));
}

TEST_F(FakeDeviceTest, GradientsAreTheHosts) {
  const auto gradient = [](const at::Tensor& values, at::Device device) {
    const at::Tensor x = values.to(device).requires_grad_(true);
    const at::Tensor rows = at::embedding(x, at::arange(3, at::kLong).to(device));
    const at::Tensor normed = at::layer_norm(rows.transpose(0, 1).contiguous(), {3});
    at::cross_entropy_loss(normed, at::tensor({0, 1, 2, 0}, at::kLong).to(device)).backward();
    return x.grad().cpu();
  };
  const at::Tensor values = Numbers({5, 4}).sin();
  EXPECT_TRUE(gradient(values, device_).equal(gradient(values, at::kCPU)));
}

TEST_F(FakeDeviceTest, ViewsShareMemory) {
  const at::Tensor x = at::zeros({2, 3}, device_);
  x.select(1, 1).add_(5);
  x.t().narrow(0, 2, 1).fill_(7);
  x.view({-1}).unfold(0, 2, 2).select(0, 0).mul_(2);
  const at::Tensor expected = at::tensor({0.f, 10.f, 7.f, 0.f, 5.f, 7.f}).view({2, 3});
  EXPECT_TRUE(x.cpu().equal(expected)) << x.cpu();
  EXPECT_TRUE(x.is_alias_of(x.t()));
}

TEST_F(FakeDeviceTest, ComplexConjugatesAndTransforms) {
  const at::Tensor x = Numbers({2, 6}).cos();
  const auto product = [](const at::Tensor& t) {
    const at::Tensor f = at::fft_rfft(t);
    return at::fft_irfft(f.conj() * f, 6);
  };
  EXPECT_TRUE(product(x.to(device_)).cpu().equal(product(x)));
  EXPECT_TRUE(at::fft_rfft(x.to(device_)).conj().cpu().equal(at::fft_rfft(x).conj()));
}

TEST_F(FakeDeviceTest, ConvolutionsHaveGradients) {
  const auto gradient = [](const at::Tensor& values, at::Device device) {
    const at::Tensor x = values.to(device).requires_grad_(true);
    const at::Tensor weight = at::ones({2, 1, 3}, device);
    at::conv1d(x, weight, {}, 1, 1, 1, 2).square().sum().backward();
    return x.grad().cpu();
  };
  const at::Tensor values = Numbers({1, 2, 5}).sin();
  EXPECT_TRUE(gradient(values, device_).equal(gradient(values, at::kCPU)));
}

TEST_F(FakeDeviceTest, WritesIntoResultsOfAnotherSize) {
  at::Tensor out = at::empty({0}, at::TensorOptions(at::kFloat).device(device_));
  const at::Tensor x = Numbers({2, 3}).to(device_);
  at::mm_out(out, x, x.t());
  EXPECT_TRUE(out.cpu().equal(Numbers({2, 3}).mm(Numbers({2, 3}).t())));
}

TEST_F(FakeDeviceTest, TensorsOfTheHostAreRefused) {
  const at::Tensor x = Numbers({2, 3}).to(device_), host = Numbers({2, 3});
  EXPECT_THAT(ErrorOf([&] { x + host; }), HasSubstr("aten::add.Tensor: argument \"other\", "
                                                    "Float [2, 3], is on cpu"));
  EXPECT_THAT(ErrorOf([&] { at::cat({x, host}); }), HasSubstr("aten::cat"));
  EXPECT_THAT(ErrorOf([&] { x.index({at::ones({2}, at::kLong)}); }), HasSubstr("aten::index"));
  EXPECT_EQ(ErrorOf([&] { x + at::ones({}); }), "");
}

TEST_F(FakeDeviceTest, PointersAreRefused) {
  const at::Tensor x = at::zeros({2}, device_);
  EXPECT_THAT(ErrorOf([&] { x.const_data_ptr<float>(); }), HasSubstr("by its pointer"));
  EXPECT_THAT(ErrorOf([&] {
                x.view({2, 1}).mutable_data_ptr<float>();
              }),
              HasSubstr("by its pointer"));
}

TEST_F(FakeDeviceTest, CountsOperatorsButNoViews) {
  const at::Tensor x = at::ones({2, 3}, device_);
  x.t().unsqueeze(0).exp().mul_(2);
  const FakeDeviceWork work = TakeFakeDeviceWork();
  EXPECT_THAT(work.operators, ElementsAre(Pair("exp", 1), Pair("fill_", 1), Pair("mul", 1)));
  EXPECT_THAT(work.uploads, IsEmpty());
  EXPECT_THAT(work.host_reads, IsEmpty());
  EXPECT_EQ(Total(work.operators), 3);
  EXPECT_THAT(TakeFakeDeviceWork().operators, IsEmpty());
}

TEST_F(FakeDeviceTest, CountsUploadsAndHostReads) {
  const at::Tensor x = Numbers({2, 3}).to(device_);
  EXPECT_EQ(x.sum().item<float>(), 15);
  x.gt(1).nonzero();
  x.index({x.gt(1)});
  x.cpu();
  const FakeDeviceWork work = TakeFakeDeviceWork();
  EXPECT_THAT(work.uploads, ElementsAre(Pair("Float [2, 3]", 1)));
  EXPECT_THAT(work.host_reads,
              ElementsAre(Pair("_local_scalar_dense", 1), Pair("copy of Float [2, 3]", 1),
                          Pair("index", 1), Pair("nonzero", 1)));
}

TEST_F(FakeDeviceTest, ParametersMoveToItAndBack) {
  ParameterStore store(1);
  const at::Tensor weight = store.Create("w", {2, 2}, Initializer::Ones());
  store.MoveTo(device_);
  EXPECT_EQ(weight.device(), device_);
  (weight * 3).sum().backward();
  EXPECT_EQ(weight.grad().device(), device_);
  EXPECT_EQ(weight.grad().cpu().sum().item<float>(), 12);
  weight.mutable_grad() = at::Tensor();
  store.MoveTo(at::kCPU);
  EXPECT_EQ(weight.detach().sum().item<float>(), 4);
}

TEST_F(FakeDeviceTest, AutocastMultipliesInBfloat16) {
  const at::Tensor x = Numbers({2, 2}).to(device_);
  const PrecisionScope bfloat16(true, device_.type());
  EXPECT_EQ(at::matmul(x, x).scalar_type(), at::kBFloat16);
  EXPECT_EQ((x + x).scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace lra
