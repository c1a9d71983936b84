#include "train/interruption.h"

#include <atomic>

namespace lra {
namespace {

std::atomic<bool> stop_requested{false}, save_requested{false};

}  // namespace

void RequestStop() { stop_requested = true; }
bool StopRequested() { return stop_requested; }

void RequestSave() { save_requested = true; }
bool TakeSaveRequest() { return save_requested.exchange(false); }

}  // namespace lra
