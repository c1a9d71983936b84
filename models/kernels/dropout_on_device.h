// The random numbers of models/kernels/dropout.h and models/kernels/noise.h drawn where a device's
// tensors are, by LibTorch's integer operations: the bits are those that the host draws. It takes a
// hundred operators, so a caller keeps what is drawn where it can. On CUDA our own kernel draws
// channels and weights, where it is built (models/kernels/cuda_kernels.h).
#ifndef LRA_MODELS_KERNELS_DROPOUT_ON_DEVICE_H_
#define LRA_MODELS_KERNELS_DROPOUT_ON_DEVICE_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

#include "models/kernels/dropout.h"

namespace lra::internal {

// Whether each element is kept: bool [B, N, C], and [B, 1, C] under a tied key.
at::Tensor KeptChannels(const DropoutKey& key, int64_t tokens, int64_t channels, at::Device device);

// The same of the attention weights that WeightDropoutBlock() names, [B, H, queries, keys].
at::Tensor KeptWeights(const DropoutKey& key, int64_t heads, int64_t first_query, int64_t queries,
                       int64_t first_key, int64_t keys, at::Device device);

// The same of pairs of positions, as GatherWeightDropout() names them, [G, Lq, Lk].
at::Tensor KeptPairs(const DropoutKey& key, int64_t heads, const at::Tensor& queries,
                     const at::Tensor& keys, int64_t first_group);

// What kept elements are multiplied by, 0 elsewhere.
at::Tensor ScaledMask(const at::Tensor& kept, const DropoutKey& key, at::ScalarType type);

// GumbelNoise() and NormalNoise(); the words are the host's, their logarithms the device's.
at::Tensor GumbelNoiseOnDevice(const DropoutKey& key, int64_t heads, int64_t rows, int64_t columns,
                               at::Device device);
at::Tensor NormalNoiseOnDevice(const DropoutKey& key, const std::vector<int64_t>& shape,
                               at::Device device);

}  // namespace lra::internal

#endif  // LRA_MODELS_KERNELS_DROPOUT_ON_DEVICE_H_
