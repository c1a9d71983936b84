// Counter-based noise for attentions in training. Like dropout masks (models/kernels/dropout.h) it
// depends only on (seed, step, site, example id, place), so neither padding nor batching changes
// it.
#ifndef LRA_MODELS_KERNELS_NOISE_H_
#define LRA_MODELS_KERNELS_NOISE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "models/kernels/dropout.h"

namespace lra {

// Standard Gumbel numbers -log(-log(u)): float64 [B, heads, rows, columns] on the device; the
// probability of the key has no effect. u = (w + 1/2) / 2^32, where w is the (column % 4)-th word
// of Philox4x32-10 under
//   key     = (seed, site << 8 | RandomDomain::kAttentionNoise)
//   counter = (head << 18 | column / 4, row, low 32 bits of example_ids[b], step)
at::Tensor GumbelNoise(const DropoutKey& key, int64_t heads, int64_t rows, int64_t columns,
                       at::Device device = at::kCPU);

// Standard normal numbers that are the same for all examples, float32 of any shape: number i is the
// Box-Muller transform of the i-th block of RandomStream(seed, kAttentionNoise at the key's site,
// {0, 0, step}).
at::Tensor NormalNoise(const DropoutKey& key, const std::vector<int64_t>& shape, at::Device device);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_NOISE_H_
