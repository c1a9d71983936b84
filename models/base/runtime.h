// Threads, memory, device and precision of a process that computes.
#ifndef LRA_MODELS_BASE_RUNTIME_H_
#define LRA_MODELS_BASE_RUNTIME_H_

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/base/product_type.h"

namespace lra {

// The first thing that a program which computes does. LibTorch gets `threads` threads (0 = all
// cores) for one operation; freed memory is kept for the next step instead of being given back to
// the system and asked for again; kernels take the path of this name (ForceKernelPath(): empty =
// $LRA_KERNELS, or the best). InvalidArgument for a path that this machine lacks.
absl::Status StartRuntime(int threads, absl::string_view kernels);

// InvalidArgument for what OpenDevice() takes on no machine. Asks nothing of CUDA.
absl::Status CheckDeviceName(absl::string_view name);

// "cpu" (or empty), "cuda", "cuda:1", "fake" (models/base/fake_device.h). For CUDA, loads
// LibTorch's CUDA library, which programs do not link, before anything is asked of it.
// InvalidArgument with the reason where there is no such device. Of a plain "cuda", the process
// takes the card of its place among those that share the machine, counted round and round.
absl::StatusOr<at::Device> OpenDevice(absl::string_view name, int place = 0);

// "cuda:1" for a plain "cuda", place 3 and two cards; other names as they are. `cards` is positive.
std::string DeviceOfPlace(absl::string_view name, int place, int64_t cards);
// How many cards a plain "cuda" means here; 1 of other names. The errors of OpenDevice.
absl::StatusOr<int64_t> CardsOf(absl::string_view name);

// Whether LibTorch computes matrix products in another type on this device type and thread.
bool IsAutocastOn(at::DeviceType device);

// While it lives, LibTorch's matrix products on this device type and thread are computed in
// bfloat16 (on) or in the type of their operands (off). Scopes nest; what was cast is forgotten at
// the end of the outermost one.
class AutocastScope {
 public:
  AutocastScope(bool is_on, at::DeviceType device);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const at::DeviceType device_;
  const bool was_on_;
  const at::ScalarType had_type_;
};

// The precision of a run (numerics.precision) while it lives: with bfloat16, LibTorch's matrix
// products are of bfloat16, and so are those of kernels that have tiles for it.
class PrecisionScope {
 public:
  PrecisionScope(bool is_bfloat16, at::DeviceType device)
      : autocast_(is_bfloat16, device), products_(is_bfloat16 && device == at::kCPU) {}

 private:
  const AutocastScope autocast_;
  const ProductTypeScope products_;
};

}  // namespace lra

#endif  // LRA_MODELS_BASE_RUNTIME_H_
