// Times of the system's clocks in seconds.
#ifndef LRA_SECONDS_H_
#define LRA_SECONDS_H_

#include <sys/time.h>

#include <chrono>

namespace lra {

inline double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace lra

#endif  // LRA_SECONDS_H_
