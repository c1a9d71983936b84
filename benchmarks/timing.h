// A clock and medians for the benchmark programs.
#ifndef LRA_BENCHMARKS_TIMING_H_
#define LRA_BENCHMARKS_TIMING_H_

#include <algorithm>
#include <chrono>
#include <vector>

namespace lra {

// Wall-clock seconds that one call takes.
template <class Function>
double SecondsOf(Function function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The median; of an even number of values, the upper of the two in the middle.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace lra

#endif  // LRA_BENCHMARKS_TIMING_H_
