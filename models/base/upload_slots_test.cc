#include "models/base/upload_slots.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
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

class UploadSlotsTest : public testing::Test {
 protected:
  // Waits for all that a test left under way.
  void TearDown() override { WaitFor(device_); }

  static at::Tensor Numbers(int64_t count, double value) {
    return at::full({count}, value, at::kDouble);
  }
  c10::Stream NewStream() const {
    return c10::impl::getDeviceGuardImpl(device_.type())->getStreamFromGlobalPool(device_);
  }

  const at::Device device_ = FakeDevice();
};

TEST_F(UploadSlotsTest, MovesBatchesByOneCopyEach) {
  UploadSlots slots(device_);
  at::Tensor sums = at::zeros({}, at::TensorOptions(at::kDouble).device(device_));
  TakeFakeDeviceWork();
  for (int i = 0; i < 20; ++i) {  // of lengths that differ
    const std::vector<at::Tensor> moved =
        slots.Move({Numbers(3 + i, i), at::Tensor(), at::arange(2, at::kInt)});
    EXPECT_FALSE(moved[1].defined());
    EXPECT_EQ(moved[2].scalar_type(), at::kInt);
    sums += moved[0].sum() + moved[2].sum();
  }
  const FakeDeviceWork work = TakeFakeDeviceWork();
  EXPECT_EQ(Total(work.uploads), 20);
  EXPECT_EQ(Total(work.host_reads), 0);
  double expected = 0;
  for (int i = 0; i < 20; ++i) expected += (3 + i) * i + 1;
  EXPECT_EQ(sums.item<double>(), expected);
}

TEST_F(UploadSlotsTest, WorksOnAStreamOfItsOwn) {
  WaitFor(device_);
  const c10::StreamGuard guard(NewStream());
  UploadSlots slots(device_);
  at::Tensor sums = at::zeros({}, at::TensorOptions(at::kDouble).device(device_));
  for (int i = 0; i < 6; ++i) sums += slots.Move({Numbers(4, i)})[0].sum();
  EXPECT_EQ(sums.item<double>(), 60);
}

TEST_F(UploadSlotsTest, TheHostsTensorsStayOnTheHost) {
  const at::Tensor host = Numbers(2, 1);
  UploadSlots slots(at::kCPU);
  EXPECT_TRUE(slots.Move({host})[0].is_same(host));
  EXPECT_TRUE(MoveTo(at::kCPU, {host}, nullptr)[0].is_same(host));
}

// What the two events of a slot are for: without them the stand-in finds this.
TEST_F(UploadSlotsTest, APinnedBlockMustNotBeWrittenBeforeItsCopyIsDone) {
  NewStream();  // from now on order is looked at
  const at::Tensor pinned = at::zeros({8}, at::TensorOptions(at::kFloat).pinned_memory(true));
  const auto copy_then_write = [&](bool waits) {
    const at::Tensor there = pinned.to(device_, /*non_blocking=*/true);
    if (waits) WaitFor(device_);
    pinned.add_(1);
    return there.cpu();  // waits, too
  };
  EXPECT_EQ(copy_then_write(true).sum().item<float>(), 0);
  EXPECT_THAT(ErrorOf([&] { copy_then_write(false); }),
              HasSubstr("wrote to pinned memory before a copy from it was done"));
}

TEST_F(UploadSlotsTest, StreamsMustWaitForEachOther) {
  WaitFor(device_);
  const c10::Stream first = NewStream(), second = NewStream();
  at::Tensor written, read;
  {
    const c10::StreamGuard guard(first);
    written = at::zeros({3}, device_);
  }
  const c10::StreamGuard guard(second);
  EXPECT_THAT(ErrorOf([&] { read = written + 1; }), HasSubstr("nothing makes it wait"));
  c10::Event event(device_.type());
  event.record(first);
  event.block(second);
  read = written + 1;
  {
    const c10::StreamGuard back(first);
    EXPECT_THAT(ErrorOf([&] { written.add_(1); }), HasSubstr("writes what stream"));
    event.record(second);
    event.block(first);
    written.add_(1);
  }
  WaitFor(device_);
  EXPECT_EQ(written.sum().item<float>(), 3);
}

}  // namespace
}  // namespace lra
