// What a trace's spans cost by themselves: of operators that call others, of kernels on a device.
#ifndef LRA_BENCH_OWN_TIMES_H_
#define LRA_BENCH_OWN_TIMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench.pb.h"

namespace lra {

struct TracedSpan {
  std::string name;
  uint64_t track = 0;  // a thread, or a stream of a device; spans of one track nest or are apart
  uint64_t begin_nanoseconds = 0, end_nanoseconds = 0;
};

// One entry a name with its spans' own time, that is without the spans within them, over all
// tracks; the longest first, equal ones by name. Calls and seconds are divided by `steps`, of which
// the trace is.
std::vector<BenchKernel> OwnTimes(std::vector<TracedSpan> spans, int steps);

// The time in which any of the spans was under way, over `steps`.
double BusySeconds(std::vector<TracedSpan> spans, int steps);

}  // namespace lra

#endif  // LRA_BENCH_OWN_TIMES_H_
