#include "bench/own_times.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace lra {
namespace {

struct Sum {
  int64_t calls = 0, nanoseconds = 0;
};

// On each track by their beginnings, a span before those within it.
void SortToNest(std::vector<TracedSpan>* spans) {
  std::stable_sort(spans->begin(), spans->end(), [](const TracedSpan& a, const TracedSpan& b) {
    return std::tuple(a.track, a.begin_nanoseconds, b.end_nanoseconds) <
           std::tuple(b.track, b.begin_nanoseconds, a.end_nanoseconds);
  });
}

int64_t DurationOf(const TracedSpan& span) {
  return int64_t(span.end_nanoseconds) - int64_t(span.begin_nanoseconds);
}

bool Holds(const TracedSpan& outer, const TracedSpan& inner) {
  return outer.track == inner.track && inner.end_nanoseconds <= outer.end_nanoseconds;
}

}  // namespace

std::vector<BenchKernel> OwnTimes(std::vector<TracedSpan> spans, int steps) {
  SortToNest(&spans);
  std::map<std::string, Sum> sums;
  std::vector<const TracedSpan*> under_way;  // each within the one before
  for (const TracedSpan& span : spans) {
    while (!under_way.empty() && !Holds(*under_way.back(), span)) under_way.pop_back();
    if (!under_way.empty()) sums[under_way.back()->name].nanoseconds -= DurationOf(span);
    under_way.push_back(&span);
    Sum& sum = sums[span.name];
    ++sum.calls;
    sum.nanoseconds += DurationOf(span);
  }
  std::vector<BenchKernel> kernels;
  for (const auto& [name, sum] : sums) {
    BenchKernel& kernel = kernels.emplace_back();
    kernel.set_name(name);
    kernel.set_calls(double(sum.calls) / steps);
    kernel.set_seconds(1e-9 * double(sum.nanoseconds) / steps);
  }
  std::stable_sort(kernels.begin(), kernels.end(), [](const BenchKernel& a, const BenchKernel& b) {
    return a.seconds() > b.seconds();
  });
  return kernels;
}

double BusySeconds(std::vector<TracedSpan> spans, int steps) {
  std::sort(spans.begin(), spans.end(), [](const TracedSpan& a, const TracedSpan& b) {
    return a.begin_nanoseconds < b.begin_nanoseconds;
  });
  uint64_t busy = 0, end = 0;
  for (const TracedSpan& span : spans) {
    const uint64_t begin = std::max(end, span.begin_nanoseconds);
    end = std::max(end, span.end_nanoseconds);
    if (end > begin) busy += end - begin;
  }
  return 1e-9 * double(busy) / steps;
}

}  // namespace lra
