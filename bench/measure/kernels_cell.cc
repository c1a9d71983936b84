#include "bench/measure/kernels_cell.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <memory>
#include <set>
#include <vector>

#include "bench/measure/timing.h"
#include "bench/own_times.h"
#include "models/base/device_work.h"

namespace lra::internal {
namespace {

namespace profiler = torch::autograd::profiler;

constexpr int kProfiledSteps = 3;

using Trace = std::unique_ptr<profiler::ProfilerResult>;

// `seconds` are those of the steps under the profiler.
Trace TraceSteps(StepModel* model, profiler::ActivityType activity, double* seconds) {
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
  const std::set<profiler::ActivityType> activities = {activity};
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  *seconds = SecondsOf([&] {
    for (int i = 0; i < kProfiledSteps; ++i) model->Train();
    WaitFor(model->device());
  });
  return profiler::disableProfiler();
}

std::vector<TracedSpan> SpansOf(const profiler::ProfilerResult& trace, at::DeviceType where) {
  std::vector<TracedSpan> spans;
  for (const profiler::KinetoEvent& event : trace.events()) {
    if (event.deviceType() != where) continue;
    const uint64_t track =
        where == at::kCPU ? event.startThreadId() : static_cast<uint64_t>(event.deviceResourceId());
    spans.push_back({event.name(), track, event.startNs(), event.startNs() + event.durationNs()});
  }
  return spans;
}

}  // namespace

absl::Status MeasureKernels(StepModel* model, BenchDeviceProfile* profile) {
  const bool is_cuda = model->device().is_cuda();
  const auto activity = is_cuda ? profiler::ActivityType::CUDA : profiler::ActivityType::CPU;
  double seconds = 0;
  TraceSteps(model, activity, &seconds);  // its first use loads what it needs
  const Trace trace = TraceSteps(model, activity, &seconds);
  const std::vector<TracedSpan> spans = SpansOf(*trace, is_cuda ? at::kCUDA : at::kCPU);
  if (spans.empty()) {
    return absl::UnavailableError(
        "the profiler saw no kernel: it needs LibTorch's libcupti, and a driver that lets users "
        "profile; --no-profile does without");
  }
  profile->set_are_host_operators(!is_cuda);
  profile->set_step_seconds(seconds / kProfiledSteps);
  profile->set_busy_seconds(BusySeconds(spans, kProfiledSteps));
  for (const BenchKernel& kernel : OwnTimes(spans, kProfiledSteps))
    *profile->add_kernels() = kernel;
  return absl::OkStatus();
}

}  // namespace lra::internal
