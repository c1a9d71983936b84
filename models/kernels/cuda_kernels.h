// Our own CUDA kernels (models/kernels/*.cu), in the library of models/base/cuda_library.h. Without
// it LibTorch's operators compute the same.
#ifndef LRA_MODELS_KERNELS_CUDA_KERNELS_H_
#define LRA_MODELS_KERNELS_CUDA_KERNELS_H_

#include <ATen/core/Tensor.h>

#include "models/kernels/kept_octet.h"

namespace lra {

// The mask [examples, heads, rows, columns], bool, on the CUDA device that holds `ids` [examples]
// (int64, contiguous), whose address plan.example_ids need not have yet; `step`, int64 [] there,
// stands for plan.step where it is defined. Launched on the calling thread's stream. Undefined
// where our kernels are not there. Throws c10::Error if the launch fails.
at::Tensor DrawKeptOnCuda(KeptPlan plan, const at::Tensor& ids, const at::Tensor& step);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_CUDA_KERNELS_H_
