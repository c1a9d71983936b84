#include "python/trainer/signals.h"

#include <array>
#include <atomic>
#include <cstddef>

#include "train/interruption.h"

namespace lra {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGUSR1};

std::array<struct sigaction, kSignals.size()> before;
std::atomic<int> stopped_by{0};

void Handle(int number) {
  if (number == SIGUSR1) return RequestSave();
  stopped_by = number;
  RequestStop();
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == number) sigaction(number, &before[i], nullptr);
  }
}

}  // namespace

SignalScope::SignalScope() {
  stopped_by = 0;
  ForgetStopRequest();
  struct sigaction action = {};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before[i]);
}

SignalScope::~SignalScope() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before[i], nullptr);
  ForgetStopRequest();
}

int SignalScope::StoppedBy() { return stopped_by; }

}  // namespace lra
