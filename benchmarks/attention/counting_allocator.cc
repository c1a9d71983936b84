#include "benchmarks/attention/counting_allocator.h"

#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <utility>

namespace lra {
namespace {

std::atomic<int64_t> live_bytes = 0, peak_bytes = 0;

struct Block {
  c10::DataPtr data;
  int64_t size_bytes;
};

void Free(void* context) {
  Block* block = static_cast<Block*>(context);
  live_bytes -= block->size_bytes;
  delete block;
}

class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size_bytes) override {
    auto* block =
        new Block{c10::GetDefaultCPUAllocator()->allocate(size_bytes), int64_t(size_bytes)};
    const int64_t live = live_bytes += block->size_bytes;
    int64_t peak = peak_bytes;
    while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
    }
    return {block->data.get(), block, &Free, c10::Device(c10::kCPU)};
  }
  void copy_data(void* to, const void* from, std::size_t size_bytes) const override {
    default_copy_data(to, from, size_bytes);
  }
};

}  // namespace

void CountTensorBytes() {
  static CountingAllocator allocator;
  constexpr uint8_t kHighest = 255;
  c10::SetCPUAllocator(&allocator, kHighest);
}

int64_t LiveTensorBytes() { return live_bytes; }
int64_t PeakTensorBytes() { return peak_bytes; }
void ResetPeakTensorBytes() { peak_bytes = live_bytes.load(); }

}  // namespace lra
