// The weights of a model that does not change, laid out for products once. Laying them out is half
// of what a few tokens cost.
#ifndef LRA_MODELS_KERNELS_PACKED_WEIGHTS_H_
#define LRA_MODELS_KERNELS_PACKED_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "models/base/parameters.h"
#include "models/base/product_type.h"
#include "models/kernels/gemm.h"

namespace lra {

// Find() is not thread-safe; what it returns may be read by any thread.
class PackedWeights {
 public:
  // Those of `weights` that are matrices [out, in] of float32 on the CPU, dense; others are never
  // found. What is found has as many floats again, from when it is first asked for.
  explicit PackedWeights(const std::vector<at::Tensor>& weights);
  // A model's.
  explicit PackedWeights(const ParameterStore& model);

  // W^T [in, out] for products of this type, of which only the last that was asked for is kept;
  // null for other tensors than those given, and for one whose memory was taken from it (set_data).
  // Operations of LibTorch that change W in place are noticed, and W laid out anew; what writes
  // through its pointer, its data() or variable_data() is not.
  const PackedMatrix* Find(const at::Tensor& weight, ProductType type);

 private:
  struct Entry {
    at::Tensor weight;  // detached: keeps the memory, which could become another tensor's
    std::optional<PackedMatrix> packed;
    uint32_t version;
  };
  std::unordered_map<const void*, Entry> entries_;
};

// While it lives, maps that this thread makes (models/kernels/linear_map.h, ForwardMap) take their
// weights from `weights`: the same bits. Maps of other threads lay them out as always.
class PackedWeightsScope {
 public:
  explicit PackedWeightsScope(PackedWeights* weights);
  ~PackedWeightsScope();
  PackedWeightsScope(const PackedWeightsScope&) = delete;
  PackedWeightsScope& operator=(const PackedWeightsScope&) = delete;

  // Find() of the scope's weights; null without a scope.
  static const PackedMatrix* Find(const at::Tensor& weight, ProductType type);

 private:
  PackedWeights* const previous_;
};

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_PACKED_WEIGHTS_H_
