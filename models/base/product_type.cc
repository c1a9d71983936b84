#include "models/base/product_type.h"

#include "absl/strings/str_cat.h"
#include "models/base/cuda_library.h"
#include "models/base/kernel_path.h"

namespace lra {
namespace {

constinit thread_local ProductType type_of_thread = ProductType::kFloat32;

}  // namespace

bool HasBfloat16Products() {
#if defined(__x86_64__)
  static const bool has_instructions = __builtin_cpu_supports("avx512bf16");
  return has_instructions &&
         (ActiveKernelPath() == KernelPath::kAvx512 || ActiveKernelPath() == KernelPath::kAmx);
#else
  return false;
#endif
}

std::string KernelsName(at::Device device, bool is_bfloat16) {
  if (device.is_cuda() && CudaFunction("LraCurrentStream") != nullptr) return "cuda";
  if (!device.is_cpu()) return "aten";
  const KernelPath path = ActiveKernelPath();
  if (is_bfloat16 && HasBfloat16Products()) return std::string(KernelPathName(path)) + "+bfloat16";
  return KernelPathName(path == KernelPath::kAmx ? KernelPath::kAvx512 : path);
}

std::string WhyBfloat16IsSlow() {
  if (!HasBfloat16Products()) {
    return absl::StrCat("kernels ", KernelPathName(ActiveKernelPath()),
                        " have no products in bfloat16, LibTorch's autocast computes them: a step "
                        "takes several times as long as in FLOAT32");
  }
#if defined(__x86_64__)
  if (ActiveKernelPath() == KernelPath::kAvx512 && __builtin_cpu_is("intel"))
    return "without AMX a step took longer than in FLOAT32 on the Intel processor that was "
           "measured";
#endif
  return "";
}

ProductType ActiveProductType() { return type_of_thread; }

ProductTypeScope::ProductTypeScope(bool wants_bfloat16) : previous_(type_of_thread) {
  type_of_thread =
      wants_bfloat16 && HasBfloat16Products() ? ProductType::kBfloat16 : ProductType::kFloat32;
}
ProductTypeScope::~ProductTypeScope() { type_of_thread = previous_; }

}  // namespace lra
