// Memory of LibTorch's tensors while something runs.
#ifndef LRA_MODELS_BASE_ALLOCATION_METER_H_
#define LRA_MODELS_BASE_ALLOCATION_METER_H_

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace lra {

// Counts the bytes that operations of one thread allocate, less what they free. LibTorch reports
// them to the thread's profiler alone, so it is one, which is off: others ask it, Python at every
// function with a gradient of its own.
class AllocationMeter : public torch::profiler::impl::ProfilerStateBase {
 public:
  AllocationMeter()
      : ProfilerStateBase(
            torch::profiler::impl::ProfilerConfig(torch::profiler::impl::ProfilerState::Disabled)) {
  }
  torch::profiler::impl::ActiveProfilerType profilerType() override {
    return torch::profiler::impl::ActiveProfilerType::NONE;
  }
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, at::Device) override {
    const int64_t live = live_bytes_ += bytes;
    int64_t peak = peak_bytes_;
    while (live > peak && !peak_bytes_.compare_exchange_weak(peak, live)) {
    }
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t live_bytes() const { return live_bytes_; }
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  std::atomic<int64_t> live_bytes_ = 0, peak_bytes_ = 0;
};

// While it lives, its meter counts.
class MeteredScope {
 public:
  const AllocationMeter& meter() const { return *meter_; }

 private:
  const std::shared_ptr<AllocationMeter> meter_ = std::make_shared<AllocationMeter>();
  const c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, meter_};
};

}  // namespace lra

#endif  // LRA_MODELS_BASE_ALLOCATION_METER_H_
