// Layer normalisation by our own kernels: LibTorch's have a block of threads for each row, which
// has little to do where rows are narrow, and gradients of the parameters that take most of the
// time. A part of the library that models/kernels/cuda_kernels.h loads.
#include "models/kernels/norm_rows.h"

namespace {

constexpr int kThreads = lra::kNormWarps * lra::kWarpLanes;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;
constexpr int64_t kMostBlocks = 65535;

struct DeviceWarp {
  using Lanes = float;
  template <class Body>
  __device__ void ForLanes(Body body) const {
    body(static_cast<int>(threadIdx.x % lra::kWarpLanes));
  }
  __device__ float& At(float* lanes, int) const { return *lanes; }
  __device__ float Sum(float lane) const {
    for (int apart = lra::kWarpLanes / 2; apart > 0; apart /= 2)
      lane += __shfl_xor_sync(kAllLanes, lane, apart);
    return lane;
  }
};

__global__ void NormForward(lra::NormRowsPlan plan) {
  const int64_t warp = int64_t{blockIdx.x} * lra::kNormWarps + threadIdx.x / lra::kWarpLanes;
  lra::NormRowsOfWarp(DeviceWarp(), plan, warp, int64_t{gridDim.x} * lra::kNormWarps);
}

__global__ void NormBackward(lra::NormRowsBackwardPlan plan) {
  extern __shared__ float sums[];  // [kNormWarps, 2, width]
  const int warp = static_cast<int>(threadIdx.x) / lra::kWarpLanes;
  for (int64_t i = threadIdx.x; i < lra::kNormWarps * 2 * plan.width; i += kThreads) sums[i] = 0;
  __syncthreads();
  lra::NormRowsBackwardOfWarp(DeviceWarp(), plan, blockIdx.x, warp, sums);
  __syncthreads();
  for (int64_t column = threadIdx.x; column < 2 * plan.width; column += kThreads)
    lra::StorePartial(plan, blockIdx.x, column, sums);
}

}  // namespace

// Both return cudaSuccess (0) or the error of the launch.
extern "C" int LraNormForward(const lra::NormRowsPlan* plan, void* stream) {
  const int64_t blocks = (plan->rows + lra::kNormWarps - 1) / lra::kNormWarps;
  if (blocks == 0) return cudaSuccess;
  NormForward<<<static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks), kThreads, 0,
                static_cast<cudaStream_t>(stream)>>>(*plan);
  return cudaGetLastError();
}

extern "C" int LraNormBackward(const lra::NormRowsBackwardPlan* plan, void* stream) {
  const size_t shared = sizeof(float) * lra::kNormWarps * 2 * plan->width;
  NormBackward<<<static_cast<unsigned>(plan->blocks), kThreads, shared,
                 static_cast<cudaStream_t>(stream)>>>(*plan);
  return cudaGetLastError();
}
