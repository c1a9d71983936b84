// A clock for what is measured.
#ifndef LRA_BENCH_MEASURE_TIMING_H_
#define LRA_BENCH_MEASURE_TIMING_H_

#include <chrono>

namespace lra {

// Wall-clock seconds that one call takes.
template <class Function>
double SecondsOf(Function function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace lra

#endif  // LRA_BENCH_MEASURE_TIMING_H_
