#include "models/base/host_copy.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/base/fake_device.h"

namespace lra {
namespace {

TEST(CopyTogetherTest, MovesAllTensorsByOneCopy) {
  const at::Device device = FakeDevice();
  const std::vector<at::Tensor> host = {at::arange(6, at::kInt).view({2, 3}), at::Tensor(),
                                        at::tensor({1, 0, 1}, at::kInt).to(at::kBool),
                                        at::arange(4, at::kDouble).view({2, 2}).t()};
  TakeFakeDeviceWork();
  const std::vector<at::Tensor> moved = CopyTogether(host, device);
  EXPECT_THAT(TakeFakeDeviceWork().uploads, testing::ElementsAre(testing::Pair("Byte [80]", 1)));
  ASSERT_EQ(moved.size(), host.size());
  EXPECT_FALSE(moved[1].defined());
  for (const size_t i : {0, 2, 3}) {
    EXPECT_EQ(moved[i].device(), device);
    EXPECT_EQ(moved[i].scalar_type(), host[i].scalar_type());
    EXPECT_TRUE(moved[i].cpu().equal(host[i])) << i;
  }
  EXPECT_TRUE(CopyTogether(host, at::kCPU)[0].is_same(host[0]));
}

TEST(DeviceConstantTest, IsCopiedOnce) {
  const at::Device device = FakeDevice();
  const DeviceConstant constant(at::arange(3, at::kFloat)), shared = constant;
  TakeFakeDeviceWork();
  EXPECT_TRUE(constant.On(device).cpu().equal(constant.host()));
  EXPECT_TRUE(shared.On(device).is_same(constant.On(device)));
  EXPECT_EQ(Total(TakeFakeDeviceWork().uploads), 1);
  EXPECT_TRUE(constant.On(at::kCPU).is_same(constant.host()));
  EXPECT_FALSE(DeviceConstant().On(device).defined());
}

}  // namespace
}  // namespace lra
