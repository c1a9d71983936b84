#include "models/kernels/cuda_kernels.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace lra {
namespace {

constexpr char kLibrary[] = "liblra_cuda.so";
using DrawKept = int(const KeptPlan*, bool*, void*);

struct Kernels {
  DrawKept* draw_kept = nullptr;
  std::string why_not;
};

// Beside the program, or in the lib/ beside the bin/ that holds it.
Kernels Load() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  Kernels kernels;
  void* library = nullptr;
  for (const auto& folder : {program, program.parent_path() / "lib"}) {
    if (library == nullptr) library = dlopen((folder / kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    const char* const error = dlerror();
    kernels.why_not = error == nullptr ? "not found" : error;
    return kernels;
  }
  kernels.draw_kept = reinterpret_cast<DrawKept*>(dlsym(library, "LraDrawKept"));
  if (kernels.draw_kept == nullptr) kernels.why_not = absl::StrCat(kLibrary, " is of another lra");
  return kernels;
}

const Kernels& Loaded() {
  static const Kernels kernels = Load();
  return kernels;
}

bool IsOnDefaultStream(at::Device device) {
  return c10::impl::getDeviceGuardImpl(device.type())->getStream(device).id() == 0;
}

}  // namespace

at::Tensor DrawKeptOnCuda(KeptPlan plan, const at::Tensor& ids) {
  if (!ids.is_cuda() || Loaded().draw_kept == nullptr || !IsOnDefaultStream(ids.device()))
    return {};
  plan.example_ids = ids.const_data_ptr<int64_t>();
  at::Tensor mask = at::empty({plan.examples, plan.heads, plan.rows, plan.columns},
                              ids.options().dtype(at::kBool));
  const c10::impl::VirtualGuardImpl guard(at::kCUDA);
  const at::Device before = guard.exchangeDevice(ids.device());
  const int error = Loaded().draw_kept(&plan, mask.mutable_data_ptr<bool>(), nullptr);
  guard.setDevice(before);
  TORCH_CHECK(error == 0, "the CUDA kernel of dropout masks failed with error ", error);
  return mask;
}

std::string DescribeCudaKernels() {
  return Loaded().draw_kept == nullptr ? Loaded().why_not : kLibrary;
}

}  // namespace lra
