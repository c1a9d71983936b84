// x W^T + b over tokens: its loops over tiles, and the differentiable operation.
#ifndef LRA_MODELS_KERNELS_LINEAR_MAP_H_
#define LRA_MODELS_KERNELS_LINEAR_MAP_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "models/base/product_type.h"
#include "models/kernels/gemm.h"
#include "models/kernels/token_tiles.h"

namespace lra {

// Weights are [out, in]; an undefined bias is none.
struct LinearMap {
  at::Tensor weight;
  at::Tensor bias;
};

// x W^T + b for x [.., in] of any float type and device; differentiable. Tiled for many tokens of
// float32 on the CPU. Under autocast the product is one of bfloat16; the result is of the type of x
// again.
at::Tensor ApplyLinear(const at::Tensor& x, const LinearMap& map);

// --- For kernels that work on tiles of rows: dense float32 on the CPU, on one thread ---

// Whether maps of so many rows are tiled: few in float32 are not worth the way, and in bfloat16 any
// number is, so that a short batch is computed as all others are.
bool AreTiled(int64_t rows);

// A map from its inputs to its outputs, with W laid out for the products of many tiles. Threads may
// share it.
class ForwardMap {
 public:
  // In a PackedWeightsScope of this thread W is not laid out again.
  ForwardMap(const LinearMap& map, ProductType type);
  // out [rows, out] = x [rows, in] W^T + b
  void Rows(const float* x, int64_t rows, float* out) const;

 private:
  const PackedMatrix* const found_;  // the scope's
  const std::optional<PackedMatrix> own_;
  const at::Tensor bias_;
};

// The same from the gradient of its outputs to that of its inputs.
class BackwardMap {
 public:
  BackwardMap(const LinearMap& map, ProductType type);
  // dx [rows, in] = gradient [rows, out] W + beta dx, where beta is 0 or 1
  void Rows(const float* gradient, int64_t rows, float beta, float* dx) const;

 private:
  const PackedMatrix weight_;
};

// The gradients of a map's parameters, summed up tile by tile.
struct MapGradient {
  MapGradient(const LinearMap& map, ProductType type)
      : weight(map.weight), bias(map.bias), type(type) {}
  // Adds what one tile of x and of the output's gradient give.
  void Add(const float* x, const float* gradient, int64_t rows, const LinearMap& map,
           int64_t shard);

  ShardedGradient weight, bias;
  ProductType type;
};

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_LINEAR_MAP_H_
