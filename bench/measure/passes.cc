#include "bench/measure/passes.h"

#include <sys/resource.h>

#include "bench/measure/counting_allocator.h"
#include "bench/measure/timing.h"
#include "eval/machine.h"
#include "lra/cpu_time.h"

namespace lra {
namespace {

struct Counters {
  int64_t faults = PageFaults();
  int64_t allocations = TensorAllocations();
  int64_t bytes = AllocatedTensorBytes();
  double cpu_seconds = ProcessCpuSeconds();
};

void SetAverages(const Counters& before, double passes, BenchResult* result) {
  const Counters after;
  result->set_page_faults(static_cast<double>(after.faults - before.faults) / passes);
  result->set_allocations(static_cast<double>(after.allocations - before.allocations) / passes);
  result->set_allocated_bytes(static_cast<double>(after.bytes - before.bytes) / passes);
  result->set_cpu_seconds((after.cpu_seconds - before.cpu_seconds) / passes);
}

}  // namespace

int64_t PageFaults() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

int64_t PeakBytesOf(const std::function<void()>& pass) {
  const int64_t live = LiveTensorBytes();
  ResetPeakTensorBytes();
  pass();
  return PeakTensorBytes() - live;
}

void MeasurePasses(const BenchRequest& request, const std::function<void()>& pass,
                   BenchResult* result) {
  const double limit = request.limit_seconds();
  Counters before;
  double first = 0;
  result->mutable_passes()->set_peak_bytes(PeakBytesOf([&] { first = SecondsOf(pass); }));
  double total = first, last = first;
  auto* seconds = result->mutable_passes()->mutable_seconds();
  const auto may_go_on = [&] { return limit <= 0 || total + first <= limit; };
  for (int i = 1; i < request.warm_ups() && may_go_on(); ++i) {
    before = Counters();
    total += last = SecondsOf(pass);
  }
  if (may_go_on()) before = Counters();
  for (int i = 0; i < request.passes() && may_go_on(); ++i) {
    seconds->Add(SecondsOf(pass));
    total += seconds->at(i);
  }
  // Where the time was up before, the last pass counts, which is the warmest.
  if (seconds->empty()) seconds->Add(last);
  SetAverages(before, seconds->size(), result);
  result->set_resident_bytes(PeakMemoryBytes());
  result->set_outcome(BenchResult::MEASURED);
}

}  // namespace lra
