// The one place that decides how a kernel computes a call on the CPU. A kernel has a generic form,
// written in LibTorch's operations for every device and type, and may have tiles for the CPU. It
// states once what its tiles take, as KernelNeeds, and asks DispatchKernel() with the tensors of
// the call:
//
//   constexpr KernelNeeds kNeeds = {.fewest_rows = 8};
//   const bool is_tiled = DispatchKernel(kNeeds, {q, k, v}, q.size(2)) != KernelPath::kGeneric;
//   return is_tiled ? Tiled(q, k, v) : Generic(q, k, v);
//
// A backward must take the path of its forward, which it keeps: what they share has another form on
// each. Tiles for bfloat16 state it in `types`. Our CUDA kernels, which may not be there, are asked
// for by themselves (models/kernels/cuda_kernels.h).
#ifndef LRA_MODELS_KERNELS_DISPATCH_H_
#define LRA_MODELS_KERNELS_DISPATCH_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>

#include "absl/types/span.h"
#include "models/base/kernel_path.h"

namespace lra {

inline constexpr at::ScalarType kFloat32Tiles[] = {at::kFloat};
inline constexpr at::ScalarType kFloat32And64Tiles[] = {at::kFloat, at::kDouble};

// The calls that the tiles of a kernel take. Their tensors must also be on the CPU and not empty.
struct KernelNeeds {
  // All tensors have the first tensor's type, and it is one of these.
  absl::Span<const at::ScalarType> types = kFloat32Tiles;
  // The tensors are contiguous: the kernel writes them in place. Without it they may have any
  // strides; the kernel copies what it cannot read.
  bool is_contiguous = false;
  // Under autocast, matrix products must be of bfloat16, as the generic form's are: the tiles are
  // taken only where they have such products (models/base/product_type.h).
  bool follows_autocast = false;
  // Bounds of the `rows` of a call. The kernel defines what they count.
  int64_t fewest_rows = 1;
  int64_t most_rows = std::numeric_limits<int64_t>::max();
};

using KernelOperands = std::initializer_list<std::reference_wrapper<const at::Tensor>>;

// Returns ActiveKernelPath() where the call meets the needs, else kGeneric. The first tensor must
// be defined; others may be undefined, and do not count then.
KernelPath DispatchKernel(const KernelNeeds& needs, KernelOperands operands, int64_t rows = 1);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_DISPATCH_H_
