// Our own CUDA kernels, in a library beside the program that is built with -DLRA_CUDA=ON
// (liblra_cuda.so, models/kernels/*.cu) and loaded at its first use. Without it, and on a stream
// other than the default one, LibTorch's operators compute the same.
#ifndef LRA_MODELS_KERNELS_CUDA_KERNELS_H_
#define LRA_MODELS_KERNELS_CUDA_KERNELS_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "models/kernels/kept_octet.h"

namespace lra {

// The mask [examples, heads, rows, columns], bool, on the CUDA device that holds `ids` [examples]
// (int64, contiguous), whose address plan.example_ids need not have yet. Undefined where our
// kernels cannot draw it. Throws c10::Error if the launch fails.
at::Tensor DrawKeptOnCuda(KeptPlan plan, const at::Tensor& ids);

// "liblra_cuda.so", or why it is not used.
std::string DescribeCudaKernels();

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_CUDA_KERNELS_H_
