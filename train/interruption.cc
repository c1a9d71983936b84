#include "train/interruption.h"

#include <atomic>

namespace lra {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> save_requests{0};

}  // namespace

void RequestStop() { stop_requested = true; }
bool StopRequested() { return stop_requested; }
void ForgetStopRequest() { stop_requested = false; }

void RequestSave() { ++save_requests; }
int SaveRequests() { return save_requests; }

}  // namespace lra
