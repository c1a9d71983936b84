// A clock for what is measured.
#ifndef LRA_BENCH_MEASURE_TIMING_H_
#define LRA_BENCH_MEASURE_TIMING_H_

#include <chrono>

#include "lra/seconds.h"

namespace lra {

// Wall-clock seconds that one call takes.
template <class Function>
double SecondsOf(Function function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return SecondsSince(start);
}

}  // namespace lra

#endif  // LRA_BENCH_MEASURE_TIMING_H_
