#include "models/base/device_work.h"

#include <ATen/Context.h>
#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>

#include <array>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

using Aggregate = c10::CachingAllocator::StatType;

// The counters of LibTorch's allocator for the device; nullptr where it has none.
c10::DeviceAllocator* AllocatorOf(at::Device device) {
  if (device.is_cpu()) return nullptr;
  return dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
}

const c10::CachingAllocator::Stat& Allocated(
    const c10::CachingDeviceAllocator::DeviceStats& stats) {
  return stats.allocated_bytes[static_cast<size_t>(Aggregate::AGGREGATE)];
}

// A function of the CUDA driver, which is there where a CUDA device was opened; nullptr elsewhere.
template <class Function>
Function* Driver(const char* name) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

// The driver's attributes 75 and 76 (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR).
std::string ComputeCapability(int device) {
  const auto attribute = Driver<int(int*, int, int)>("cuDeviceGetAttribute");
  int major = 0, minor = 0;
  if (attribute == nullptr || attribute(&major, 75, device) != 0 ||
      attribute(&minor, 76, device) != 0)
    return "";
  return absl::StrCat(", compute capability ", major, ".", minor);
}

std::string CudaName(int index) {
  const auto get = Driver<int(int*, int)>("cuDeviceGet");
  const auto name = Driver<int(char*, int, int)>("cuDeviceGetName");
  int device = 0;
  std::array<char, 256> text = {};
  if (get == nullptr || name == nullptr || get(&device, index) != 0 ||
      name(text.data(), text.size(), device) != 0)
    return absl::StrCat("cuda:", index);
  return absl::StrCat(text.data(), ComputeCapability(device));
}

}  // namespace

void WaitFor(at::Device device) {
  if (device.is_cpu()) return;
  c10::impl::getDeviceGuardImpl(device.type())->synchronizeDevice(device.index());
}

StreamScope::StreamScope(at::Device device) : device_(device) {
  if (device.is_cpu()) return;
  WaitFor(device);
  guard_.emplace(c10::impl::getDeviceGuardImpl(device.type())->getStreamFromGlobalPool(device));
}

StreamScope::~StreamScope() {
  try {
    WaitFor(device_);
  } catch (...) {  // a device that has failed says so wherever it is asked next
  }
}

std::optional<int64_t> FreeDeviceBytes(at::Device device) {
  c10::DeviceAllocator* const allocator = AllocatorOf(device);
  if (allocator == nullptr) return std::nullopt;
  const auto stats = allocator->getDeviceStats(device.index());
  const auto& reserved = stats.reserved_bytes[static_cast<size_t>(Aggregate::AGGREGATE)];
  const auto [free, total] = allocator->getMemoryInfo(device.index());
  return static_cast<int64_t>(free) + reserved.current - Allocated(stats).current;
}

std::optional<int64_t> PeakDeviceBytes(at::Device device) {
  c10::DeviceAllocator* const allocator = AllocatorOf(device);
  if (allocator == nullptr) return std::nullopt;
  return Allocated(allocator->getDeviceStats(device.index())).peak;
}

std::optional<int64_t> LiveDeviceBytes(at::Device device) {
  c10::DeviceAllocator* const allocator = AllocatorOf(device);
  if (allocator == nullptr) return std::nullopt;
  return Allocated(allocator->getDeviceStats(device.index())).current;
}

void ResetPeakDeviceBytes(at::Device device) {
  if (c10::DeviceAllocator* const allocator = AllocatorOf(device))
    allocator->resetPeakStats(device.index());
}

std::string DescribeDevice(at::Device device) {
  if (device.is_cpu()) return "";
  return device.is_cuda() ? CudaName(device.index()) : "fake";
}

void SetTf32(bool is_on) {
  at::globalContext().setAllowTF32CuBLAS(is_on);
  at::globalContext().setAllowTF32CuDNN(is_on);
}

bool IsTf32On() { return at::globalContext().allowTF32CuBLAS(); }

absl::Status SetTf32For(bool is_on, at::Device device) {
  SetTf32(is_on);
  if (!is_on || device.is_cuda()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("numerics.precision: is TF32, which only CUDA computes in, and the device is ",
                   device.is_cpu() ? "the CPU" : DescribeDevice(device),
                   "; use --device cuda, or FP32 or BF16"));
}

}  // namespace lra
