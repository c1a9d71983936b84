#include "models/base/device_work.h"

#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/base/fake_device.h"

namespace lra {
namespace {

TEST(DeviceWorkTest, TheHostWaitsForEveryDevice) {
  WaitFor(at::kCPU);
  WaitFor(FakeDevice());
}

// Neither has an allocator of its own.
TEST(DeviceWorkTest, OnlyGpusCountTheirMemory) {
  for (const at::Device device : {at::Device(at::kCPU), FakeDevice()}) {
    EXPECT_FALSE(FreeDeviceBytes(device));
    EXPECT_FALSE(PeakDeviceBytes(device));
    EXPECT_FALSE(LiveDeviceBytes(device));
    ResetPeakDeviceBytes(device);
  }
}

TEST(DeviceWorkTest, DevicesHaveNames) {
  EXPECT_EQ(DescribeDevice(at::kCPU), "");
  EXPECT_EQ(DescribeDevice(FakeDevice()), "fake");
}

TEST(DeviceWorkTest, Tf32IsForCudaAndOffElsewhere) {
  const at::Device cuda(at::kCUDA, 0);
  EXPECT_TRUE(SetTf32For(true, cuda).ok());
  EXPECT_TRUE(at::globalContext().allowTF32CuBLAS());
  EXPECT_TRUE(at::globalContext().allowTF32CuDNN());
  EXPECT_TRUE(SetTf32For(false, cuda).ok());
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
  EXPECT_FALSE(at::globalContext().allowTF32CuDNN());
  EXPECT_THAT(
      std::string(SetTf32For(true, at::kCPU).message()),
      testing::HasSubstr("numerics.precision: is TF32, which only CUDA computes in, and the "
                         "device is the CPU; use --device cuda, or FP32 or BF16"));
  SetTf32(false);
}

}  // namespace
}  // namespace lra
