// Filters for each channel in one pass, where LibTorch's operators take one for each tap. A part of
// the library that models/kernels/cuda_kernels.h loads.
#include "models/kernels/channel_rows.h"

namespace {

constexpr int64_t kMostBlocks = 65535;

__device__ uint32_t Channel() { return blockIdx.y * lra::kChannelLanes + threadIdx.x; }

__global__ void Convolve(lra::ChannelPlan plan) {
  if (Channel() >= plan.width) return;
  for (uint32_t row = blockIdx.x * lra::kChannelRows + threadIdx.y; row < plan.rows;
       row += gridDim.x * lra::kChannelRows)
    lra::ConvolveElement(plan, row, Channel());
}

__global__ void FilterGradient(lra::FilterGradientPlan plan) {
  __shared__ float all[lra::kChannelRows][lra::kMostChannelTaps][lra::kChannelLanes];
  float sums[lra::kMostChannelTaps] = {};
  if (Channel() < plan.width)
    lra::AddFilterGradient(plan, blockIdx.x, threadIdx.y, Channel(), sums);
  LRA_UNROLL
  for (int tap = 0; tap < lra::kMostChannelTaps; ++tap)
    all[threadIdx.y][tap][threadIdx.x] = sums[tap];
  __syncthreads();
  for (uint32_t tap = threadIdx.y; tap < plan.taps && Channel() < plan.width;
       tap += lra::kChannelRows)
    lra::StoreFilterPartial(plan, blockIdx.x, tap, Channel(), &all[0][0][0]);
}

const dim3 kThreads(lra::kChannelLanes, lra::kChannelRows);

unsigned ChannelBlocks(uint32_t width) {
  return (width + lra::kChannelLanes - 1) / lra::kChannelLanes;
}

}  // namespace

// Both return cudaSuccess (0) or the error of the launch.
extern "C" int LraChannelConvolution(const lra::ChannelPlan* plan, void* stream) {
  const int64_t blocks = (int64_t{plan->rows} + lra::kChannelRows - 1) / lra::kChannelRows;
  if (blocks == 0) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks),
                  ChannelBlocks(plan->width));
  Convolve<<<grid, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(*plan);
  return cudaGetLastError();
}

extern "C" int LraFilterGradient(const lra::FilterGradientPlan* plan, void* stream) {
  FilterGradient<<<dim3(plan->blocks, ChannelBlocks(plan->width)), kThreads, 0,
                   static_cast<cudaStream_t>(stream)>>>(*plan);
  return cudaGetLastError();
}
