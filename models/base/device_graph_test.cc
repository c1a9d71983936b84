// Graphs of the fake device, which keep the rules of CUDA's.
#include "models/base/device_graph.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/full.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/base/device_work.h"
#include "models/base/fake_device.h"
#include "models/base/fake_device_test_util.h"

namespace lra {
namespace {

using testing::HasSubstr;

class DeviceGraphTest : public testing::Test {
 protected:
  DeviceGraphTest() : graphs_(DeviceGraphs::Create(device_).value()) {}
  static c10::Stream Beside(at::Device device) {
    WaitFor(device);
    return c10::impl::getDeviceGuardImpl(device.type())->getStreamFromGlobalPool(device);
  }

  const at::Device device_ = FakeDevice();
  const c10::StreamGuard guard_{Beside(device_)};
  const std::unique_ptr<DeviceGraphs> graphs_;
};

TEST_F(DeviceGraphTest, ReplaysFromTheSameMemoryIntoTheSameMemory) {
  at::Tensor input = at::ones({2, 3}, device_), sum = at::zeros({}, device_), product;
  const auto graph = graphs_->Capture([&] {
    product = input.mm(input.t()).relu_();
    sum.add_(product.sum());
    sum.copy_(sum * 2);
  });
  EXPECT_EQ(sum.item<float>(), 0) << "the capture did something";
  float expected = 0;
  for (const float value : {1.f, 2.f, -3.f}) {
    input.fill_(value);
    TakeFakeDeviceWork();
    graph->Replay();
    EXPECT_EQ(Total(TakeFakeDeviceWork().operators), 1);
    expected = 2 * (expected + 4 * 3 * value * value);
    EXPECT_EQ(product.sum().item<float>(), 12 * value * value);
    EXPECT_EQ(sum.item<float>(), expected);
  }
}

TEST_F(DeviceGraphTest, RepeatsGradientsAndConvolutions) {
  at::Tensor x = at::ones({1, 2, 5}, device_), weight = at::ones({2, 1, 3}, device_), gradient;
  weight.requires_grad_(true);
  const auto work = [&] {
    weight.mutable_grad() = at::Tensor();
    at::conv1d(x, weight, {}, 1, 1, 1, 2).square().sum().backward();
    gradient = weight.grad();
  };
  work();
  const auto graph = graphs_->Capture(work);
  const at::Tensor captured = gradient;
  x.fill_(2);
  graph->Replay();
  const at::Tensor replayed = captured.cpu();
  work();
  EXPECT_TRUE(replayed.equal(gradient.cpu()));
  EXPECT_GT(replayed.sum().item<float>(), 0);
}

// What makes a captured step wrong on a GPU, too: it is caught by its numbers.
TEST_F(DeviceGraphTest, NumbersOfTheHostStayAsTheyWere) {
  float number = 2;
  at::Tensor out = at::zeros({}, device_);
  const auto graph = graphs_->Capture([&] { out.fill_(number); });
  number = 3;
  graph->Replay();
  EXPECT_EQ(out.item<float>(), 2);
}

TEST_F(DeviceGraphTest, ACaptureNeitherReadsNorCopiesNorWaits) {
  at::Tensor x = at::ones({2}, device_), total = at::zeros({}, device_);
  const auto error = [&](const std::function<void()>& act) {
    return ErrorOf([&] {
      graphs_->Capture([&] {
        total.add_(1);
        act();
      });
    });
  };
  EXPECT_THAT(error([&] { x.sum().item<float>(); }), HasSubstr("the host reads: _local_scalar"));
  EXPECT_THAT(error([&] { x.cpu(); }), HasSubstr("the host reads: copy of Float [2]"));
  EXPECT_THAT(error([&] { at::nonzero(x); }), HasSubstr("the host reads: nonzero"));
  EXPECT_THAT(error([&] { at::ones({3}).to(device_); }),
              HasSubstr("the host copies to the device: Float [3]"));
  EXPECT_THAT(error([&] { WaitFor(device_); }), HasSubstr("the host waits"));
  EXPECT_EQ(total.item<float>(), 0) << "a failed capture did something";
}

TEST_F(DeviceGraphTest, WhatItReadsMustStillBeThere) {
  at::Tensor out = at::zeros({2}, device_);
  std::unique_ptr<DeviceGraphs::Graph> graph;
  {
    const at::Tensor lost = at::ones({2}, device_);
    graph = graphs_->Capture([&] { out.copy_(lost * 2); });
    graph->Replay();
  }
  EXPECT_THAT(ErrorOf([&] { graph->Replay(); }), HasSubstr("(Float [2]) is gone"));
}

TEST_F(DeviceGraphTest, TheHostAndTheDefaultStreamHaveNone) {
  EXPECT_EQ(DeviceGraphs::Create(at::kCPU).status().code(), absl::StatusCode::kUnavailable);
  const auto guard = c10::StreamGuard(c10::Stream(c10::Stream::DEFAULT, device_));
  EXPECT_THAT(ErrorOf([&] { graphs_->Capture([] {}); }), HasSubstr("on the default stream"));
}

}  // namespace
}  // namespace lra
