// Times a pass again and again, and counts what it allocates and which pages it touches first.
#ifndef LRA_BENCH_MEASURE_PASSES_H_
#define LRA_BENCH_MEASURE_PASSES_H_

#include <functional>

#include "bench/bench.pb.h"

namespace lra {

// The first pass shows the peak of memory; then the rest of warm_ups; then up to `passes` timed
// ones, at least one, until limit_seconds have gone by since the first. A first pass that takes
// longer than the limit is itself the timed one. Exceptions of LibTorch pass through.
void MeasurePasses(const BenchRequest& request, const std::function<void()>& pass,
                   BenchResult* result);

// The peak of tensors during one pass, above those that stand before it.
int64_t PeakBytesOf(const std::function<void()>& pass);

// Page faults of this process so far that needed no disk.
int64_t PageFaults();

}  // namespace lra

#endif  // LRA_BENCH_MEASURE_PASSES_H_
