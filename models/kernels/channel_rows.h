// Filters for each channel along the tokens (models/kernels/channel_convolution.h) as CUDA threads
// apply them. Compiled for the device by nvcc and for the host by the test, which loops over
// threads.
#ifndef LRA_MODELS_KERNELS_CHANNEL_ROWS_H_
#define LRA_MODELS_KERNELS_CHANNEL_ROWS_H_

#include <cstdint>

#include "models/kernels/host_device.h"

namespace lra {

constexpr int kChannelLanes = 32;  // channels of a block
constexpr int kChannelRows = 8;    // rows of a block at a time
constexpr int kMostChannelTaps = 8;
// The number of blocks is no property of the card, as for norms (models/kernels/norm_rows.h).
constexpr int64_t kMostFilterBlocks = 512;

// x [rows, width], rows = examples x tokens; tap t of token n reads token n + t - before of its
// example, and 0 outside of it.
struct ChannelPlan {
  const float *x, *filters;  // filters [taps, width]
  float* y;                  // [rows, width]
  uint32_t rows, tokens, width, taps, before;
  bool is_reversed;  // the last filter is the first tap's, as the gradient of x has it
};

struct FilterGradientPlan {
  const float *x, *upstream;  // [rows, width]
  float* partials;            // [blocks, taps, width], each summed over a block's rows
  uint32_t rows, tokens, width, taps, before, blocks;
};

inline int64_t FilterBlocks(int64_t rows) {
  const int64_t blocks = (rows + kChannelRows - 1) / kChannelRows;
  return blocks < 1 ? 1 : blocks < kMostFilterBlocks ? blocks : kMostFilterBlocks;
}

// Whether tap t of token n reads a token of its example.
template <class Plan>
LRA_DEVICE bool HasToken(const Plan& p, uint32_t n, uint32_t t) {
  return n + t >= p.before && n + t < p.tokens + p.before;
}

LRA_DEVICE inline void ConvolveElement(const ChannelPlan& p, uint32_t row, uint32_t channel) {
  const uint32_t n = row % p.tokens;
  float sum = 0;
  for (uint32_t t = 0; t < p.taps; ++t) {
    if (!HasToken(p, n, t)) continue;
    const uint32_t filter = p.is_reversed ? p.taps - 1 - t : t;
    const int64_t read = int64_t{row} + t - p.before;
    sum += p.filters[int64_t{filter} * p.width + channel] * p.x[read * p.width + channel];
  }
  p.y[int64_t{row} * p.width + channel] = sum;
}

// The sums of one thread: its share of a block's rows, for one channel and all taps.
LRA_DEVICE inline void AddFilterGradient(const FilterGradientPlan& p, uint32_t block,
                                         uint32_t share, uint32_t channel,
                                         float (&sums)[kMostChannelTaps]) {
  for (uint32_t row = block * kChannelRows + share; row < p.rows; row += p.blocks * kChannelRows) {
    const uint32_t n = row % p.tokens;
    const float gradient = p.upstream[int64_t{row} * p.width + channel];
    LRA_UNROLL
    for (uint32_t t = 0; t < kMostChannelTaps; ++t) {
      if (t >= p.taps || !HasToken(p, n, t)) continue;
      sums[t] += gradient * p.x[(int64_t{row} + t - p.before) * p.width + channel];
    }
  }
}

// A block's sums of one tap and channel, [kChannelRows, kMostChannelTaps, kChannelLanes].
LRA_DEVICE inline void StoreFilterPartial(const FilterGradientPlan& p, uint32_t block, uint32_t tap,
                                          uint32_t channel, const float* sums) {
  const uint32_t lane = channel % kChannelLanes;
  float sum = 0;
  for (int share = 0; share < kChannelRows; ++share)
    sum += sums[(share * kMostChannelTaps + tap) * kChannelLanes + lane];
  p.partials[(int64_t{block} * p.taps + tap) * p.width + channel] = sum;
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_CHANNEL_ROWS_H_
