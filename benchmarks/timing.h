// What the benchmark programs share: a clock and medians.
#ifndef LRA_BENCHMARKS_TIMING_H_
#define LRA_BENCHMARKS_TIMING_H_

#include <algorithm>
#include <chrono>
#include <vector>

namespace lra {

// Wall-clock seconds of one call.
template <class Function>
double SecondsOf(Function function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The upper one of two in the middle.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace lra

#endif  // LRA_BENCHMARKS_TIMING_H_
