// Draws a dropout mask in one launch, where LibTorch's operators take some 130. A part of the
// library that models/kernels/cuda_kernels.h loads.
#include "models/kernels/kept_octet.h"

namespace {

constexpr int kThreads = 256;
// Threads take further octets in turn, so that a mask of any size is one launch.
constexpr int64_t kMostBlocks = 65535;

__global__ void DrawKept(lra::KeptPlan plan, bool* mask) {
  const int64_t octets = lra::Octets(plan), stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < octets; i += stride)
    lra::DrawKeptOctet(plan, i, mask);
}

}  // namespace

// Returns cudaSuccess (0) or the error of the launch.
extern "C" int LraDrawKept(const lra::KeptPlan* plan, bool* mask, void* stream) {
  const int64_t octets = lra::Octets(*plan), blocks = (octets + kThreads - 1) / kThreads;
  if (octets == 0) return cudaSuccess;
  DrawKept<<<static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks), kThreads, 0,
             static_cast<cudaStream_t>(stream)>>>(*plan, mask);
  return cudaGetLastError();
}
