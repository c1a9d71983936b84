#include "bench/measure/counting_allocator.h"

#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace lra {
namespace {

std::atomic<int64_t> live_bytes = 0, peak_bytes = 0, allocations = 0, allocated_bytes = 0;
int64_t budget = 0;

// The size of each block is stored in front of it. The header is as wide as the alignment that
// LibTorch needs. Data and context are the same pointer, as oneDNN's scratch memory requires.
constexpr size_t kHeaderBytes = 64;

void Free(void* data) {
  if (data == nullptr) return;
  char* block = static_cast<char*>(data) - kHeaderBytes;
  live_bytes -= *reinterpret_cast<int64_t*>(block);
  std::free(block);
}

class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size_bytes) override {
    if (size_bytes == 0) return {nullptr, c10::Device(c10::kCPU)};
    const int64_t size = static_cast<int64_t>(size_bytes);
    if (budget > 0 && live_bytes + size > budget) throw std::bad_alloc();
    void* block = nullptr;
    if (posix_memalign(&block, kHeaderBytes, size_bytes + kHeaderBytes) != 0)
      throw std::bad_alloc();
    *static_cast<int64_t*>(block) = size;
    ++allocations;
    allocated_bytes += size;
    const int64_t live = live_bytes += size;
    int64_t peak = peak_bytes;
    while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
    }
    void* data = static_cast<char*>(block) + kHeaderBytes;
    return {data, data, &Free, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, std::size_t size_bytes) const override {
    default_copy_data(to, from, size_bytes);
  }
};

}  // namespace

void CountTensorBytes(int64_t budget_bytes) {
  budget = budget_bytes;
  static CountingAllocator allocator;
  constexpr uint8_t kHighest = 255;
  c10::SetCPUAllocator(&allocator, kHighest);
}

int64_t LiveTensorBytes() { return live_bytes; }
int64_t PeakTensorBytes() { return peak_bytes; }
void ResetPeakTensorBytes() { peak_bytes = live_bytes.load(); }
int64_t TensorAllocations() { return allocations; }
int64_t AllocatedTensorBytes() { return allocated_bytes; }

}  // namespace lra
