#include "models/base/runtime.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lra/parallel.h"
#include "lra/status_macros.h"
#include "models/base/fake_device.h"
#include "models/base/kernel_path.h"

namespace lra {
namespace {

// A training step allocates and frees the same large buffers again and again. With glibc's
// defaults, each comes fresh from the system, and touching its pages costs more than using them.
void KeepFreedMemory() {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
  constexpr int kBytes = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kBytes);
  mallopt(M_TRIM_THRESHOLD, kBytes);
#endif
}

constexpr char kCudaLibrary[] = "libtorch_cuda.so";
constexpr char kCpuName[] = "cpu", kCuda[] = "cuda", kFakeName[] = "fake";  // --device

// A remedy, "do this, or ", goes before the advice to take another device.
absl::Status Unusable(absl::string_view device, absl::string_view reason,
                      absl::string_view remedy = "") {
  return absl::InvalidArgumentError(
      absl::StrCat("--device ", device, ": ", reason, "; ", remedy, "use --device cpu"));
}

// The CUDA library registers itself while it loads, and LibTorch looks for it only once, at the
// first question about CUDA. So it must be loaded before.
absl::StatusOr<int64_t> CudaDevices(absl::string_view device) {
  // Without a fixed workspace cuBLAS may add in another order where several streams are at work.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  if (dlopen(kCudaLibrary, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return Unusable(
        device, absl::StrCat("LibTorch's CUDA library cannot be loaded (", dlerror(), ")"),
        "install torch with its dependencies and set LRA_LIBTORCH (docs/install.md), or ");
  }
  int64_t count = 0;
  try {
    if (at::hasCUDA()) count = at::detail::getCUDAHooks().deviceCount();
  } catch (const std::exception& error) {
    return Unusable(device, absl::StrCat("CUDA does not start: ", error.what()));
  }
  if (count < 1) return Unusable(device, "this machine has no CUDA device, or no driver for it");
  return count;
}

// The number in "cuda:1", 0 in "cuda"; InvalidArgument for any other name.
absl::StatusOr<int> CardIn(absl::string_view name) {
  int index = 0;
  absl::string_view rest = name;
  if (absl::ConsumePrefix(&rest, kCuda) &&
      (rest.empty() || (absl::ConsumePrefix(&rest, ":") && absl::SimpleAtoi(rest, &index))) &&
      index >= 0)
    return index;
  return absl::InvalidArgumentError(
      absl::StrCat("--device: is \"", name, "\", must be cpu, cuda, cuda:NUMBER or fake"));
}

// Equal runs give equal bits: otherwise softmax's backward adds the shares of groups of keys, and
// index_add_ its rows, in the order in which the device gets to them. With warnings alone softmax
// stays as it is.
void MakeCudaDeterministic() {
  at::globalContext().setDeterministicAlgorithms(/*b=*/true, /*warn_only=*/false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);  // it costs a pass each
}

}  // namespace

absl::Status StartRuntime(int threads, absl::string_view kernels) {
  LRA_RETURN_IF_ERROR(ForceKernelPath(kernels));
  KeepFreedMemory();
  at::set_num_threads(ResolveThreads(threads));
  return absl::OkStatus();
}

std::string DeviceOfPlace(absl::string_view name, int place, int64_t cards) {
  return name == kCuda ? absl::StrCat(kCuda, ":", place % cards) : std::string(name);
}

absl::StatusOr<int64_t> CardsOf(absl::string_view name) {
  return name == kCuda ? CudaDevices(name) : absl::StatusOr<int64_t>(1);
}

absl::Status CheckDeviceName(absl::string_view name) {
  if (name.empty() || name == kCpuName || name == kFakeName) return absl::OkStatus();
  return CardIn(name).status();
}

absl::StatusOr<at::Device> OpenDevice(absl::string_view name, int place) {
  if (name.empty() || name == kCpuName) return at::Device(at::kCPU);
  if (name == kFakeName) return FakeDevice();
  LRA_ASSIGN_OR_RETURN(const int index, CardIn(name));
  LRA_ASSIGN_OR_RETURN(const int64_t count, CudaDevices(name));
  MakeCudaDeterministic();
  at::globalContext().setSDPUseCuDNN(false);  // models/kernels/softmax_attention_fused.cc says why
  if (name == kCuda) return OpenDevice(DeviceOfPlace(name, place, count));
  if (index >= count) {
    return Unusable(name, absl::StrCat("this machine has ", count, " CUDA devices, from 0 on"));
  }
  return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
}

bool IsAutocastOn(at::DeviceType device) { return at::autocast::is_autocast_enabled(device); }

AutocastScope::AutocastScope(bool is_on, at::DeviceType device)
    : device_(device),
      was_on_(IsAutocastOn(device)),
      had_type_(at::autocast::get_autocast_dtype(device)) {
  at::autocast::set_autocast_enabled(device, is_on);
  at::autocast::set_autocast_dtype(device, at::kBFloat16);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_dtype(device_, had_type_);
  at::autocast::set_autocast_enabled(device_, was_on_);
}

}  // namespace lra
