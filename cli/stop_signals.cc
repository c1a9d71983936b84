#include "cli/stop_signals.h"

#include <time.h>

#include <atomic>
#include <csignal>
#include <cstdint>

namespace lra {
namespace {

constexpr int64_t kSecond = 1'000'000'000;  // ns

std::atomic<int64_t> first_signal{0};  // ns; 0 = none yet
void (*stop_function)() = nullptr;

// std::chrono's clocks are not promised to be safe in a signal handler.
int64_t Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

void Handle(int number) {
  const int64_t now = Now();
  int64_t first = 0;
  if (first_signal.compare_exchange_strong(first, now)) {
    stop_function();
  } else if (now - first >= kSecond) {
    std::signal(number, SIG_DFL);
    std::raise(number);  // delivered when this handler returns
  }
}

}  // namespace

void OnStopSignals(void (*stop)()) {
  stop_function = stop;
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, Handle);
}

}  // namespace lra
