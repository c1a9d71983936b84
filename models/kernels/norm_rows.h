// Layer normalisation (Ba et al. 2016) as a CUDA warp computes it, a row at a time. Compiled for
// the device by nvcc, where a lane is a thread, and for the host by the test, where lanes are a
// loop: the same operations in the same order, so the same bits.
//
// A Warp has a type Lanes, a float for each lane, and
//   ForLanes(body)      calls body(lane) for its lanes: on the device, for the thread's own
//   At(&lanes, lane)    a lane's float
//   Sum(lanes)          of all lanes, which all get it, pairs of lanes 16, 8, 4, 2, 1 apart in turn
#ifndef LRA_MODELS_KERNELS_NORM_ROWS_H_
#define LRA_MODELS_KERNELS_NORM_ROWS_H_

#include <cmath>
#include <cstdint>

#include "models/kernels/host_device.h"

namespace lra {

constexpr int kWarpLanes = 32;
constexpr int kNormWarps = 8;  // of a block
// A block of the backward sums up its rows for the parameters, so the number of blocks decides the
// order of sums; it is no property of the card.
constexpr int64_t kMostNormBlocks = 1024;
// What a block's sums have room for in the memory that its threads share, 48 KiB.
constexpr int64_t kMostNormWidth = 768;

// y = (x - mean) / sqrt(variance + epsilon) weight + bias for x [rows, width].
struct NormRowsPlan {
  const float *x, *weight, *bias;  // [rows, width], [width], [width]
  float *y, *means, *scales;       // [rows, width], [rows], [rows]: 1 / sqrt(variance + epsilon)
  int64_t rows, width;
  float epsilon;
};

struct NormRowsBackwardPlan {
  const float *x, *upstream, *weight, *means, *scales;
  float* dx;        // [rows, width]
  float* partials;  // [blocks, 2, width]: of the weight, of the bias, summed over a block's rows
  int64_t rows, width, blocks;
};

// How many blocks go through the rows of a backward; one is enough for none.
inline int64_t NormBlocks(int64_t rows) {
  const int64_t blocks = (rows + kNormWarps - 1) / kNormWarps;
  return blocks < 1 ? 1 : blocks < kMostNormBlocks ? blocks : kMostNormBlocks;
}

template <class Warp>
LRA_DEVICE void NormRow(const Warp& warp, const NormRowsPlan& p, int64_t row) {
  const float* const x = p.x + row * p.width;
  float* const y = p.y + row * p.width;
  typename Warp::Lanes sums;
  warp.ForLanes([&](int lane) {
    float sum = 0;
    for (int64_t e = lane; e < p.width; e += kWarpLanes) sum += x[e];
    warp.At(&sums, lane) = sum;
  });
  const float mean = warp.Sum(sums) / static_cast<float>(p.width);
  warp.ForLanes([&](int lane) {
    float sum = 0;
    for (int64_t e = lane; e < p.width; e += kWarpLanes) sum += (x[e] - mean) * (x[e] - mean);
    warp.At(&sums, lane) = sum;
  });
  const float variance = warp.Sum(sums) / static_cast<float>(p.width);
  const float scale = 1.0f / sqrtf(variance + p.epsilon);
  warp.ForLanes([&](int lane) {
    for (int64_t e = lane; e < p.width; e += kWarpLanes)
      y[e] = (x[e] - mean) * scale * p.weight[e] + p.bias[e];
    if (lane == 0) p.means[row] = mean, p.scales[row] = scale;
  });
}

// Adds the row's gradients of weight and bias to sums [2, width], of which each lane has columns of
// its own.
template <class Warp>
LRA_DEVICE void NormRowBackward(const Warp& warp, const NormRowsBackwardPlan& p, int64_t row,
                                float* sums) {
  const float *const x = p.x + row * p.width, *const upstream = p.upstream + row * p.width;
  float* const dx = p.dx + row * p.width;
  const float mean = p.means[row], scale = p.scales[row];
  typename Warp::Lanes plain, weighted;
  warp.ForLanes([&](int lane) {
    float of_gradients = 0, of_products = 0;
    for (int64_t e = lane; e < p.width; e += kWarpLanes) {
      const float normed = (x[e] - mean) * scale, gradient = upstream[e] * p.weight[e];
      of_gradients += gradient;
      of_products += gradient * normed;
      sums[e] += upstream[e] * normed;
      sums[p.width + e] += upstream[e];
    }
    warp.At(&plain, lane) = of_gradients;
    warp.At(&weighted, lane) = of_products;
  });
  const float width = static_cast<float>(p.width);
  const float mean_gradient = warp.Sum(plain) / width, mean_product = warp.Sum(weighted) / width;
  warp.ForLanes([&](int lane) {
    for (int64_t e = lane; e < p.width; e += kWarpLanes) {
      const float normed = (x[e] - mean) * scale;
      dx[e] = scale * (upstream[e] * p.weight[e] - mean_gradient - normed * mean_product);
    }
  });
}

// The rows of one warp of `warps`: each takes the next row in turn.
template <class Warp>
LRA_DEVICE void NormRowsOfWarp(const Warp& warp, const NormRowsPlan& p, int64_t which,
                               int64_t warps) {
  for (int64_t row = which; row < p.rows; row += warps) NormRow(warp, p, row);
}

// The rows of warp `which` of a block; sums [kNormWarps, 2, width] are the block's, zeros at first.
template <class Warp>
LRA_DEVICE void NormRowsBackwardOfWarp(const Warp& warp, const NormRowsBackwardPlan& p,
                                       int64_t block, int which, float* sums) {
  for (int64_t row = block * kNormWarps + which; row < p.rows; row += p.blocks * kNormWarps)
    NormRowBackward(warp, p, row, sums + which * 2 * p.width);
}

// Writes the block's partial sum of one of the 2 width columns, when all its warps are done.
LRA_DEVICE inline void StorePartial(const NormRowsBackwardPlan& p, int64_t block, int64_t column,
                                    const float* sums) {
  float sum = 0;
  for (int warp = 0; warp < kNormWarps; ++warp) sum += sums[warp * 2 * p.width + column];
  p.partials[block * 2 * p.width + column] = sum;
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_NORM_ROWS_H_
