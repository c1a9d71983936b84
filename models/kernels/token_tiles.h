// Loops over tiles of tokens that stay in the cache. Each shard has its own sum of parameter
// gradients, so the result is the same in every run with the same number of threads.
#ifndef LRA_MODELS_KERNELS_TOKEN_TILES_H_
#define LRA_MODELS_KERNELS_TOKEN_TILES_H_

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lra {

constexpr int64_t kTileTokens = 256;

inline int64_t ShardCount() { return at::get_num_threads(); }

// Calls body(shard, begin, end) for consecutive ranges of tokens, one for each shard, in parallel.
template <class Body>
void ForShards(int64_t tokens, Body body) {
  const int64_t shards = ShardCount();
  at::parallel_for(0, shards, 1, [&](int64_t first, int64_t last) {
    for (int64_t shard = first; shard < last; ++shard) {
      body(shard, tokens * shard / shards, tokens * (shard + 1) / shards);
    }
  });
}

// Calls body(first, rows) for the tiles of [begin, end).
template <class Body>
void ForTiles(int64_t begin, int64_t end, Body body) {
  for (int64_t first = begin; first < end; first += kTileTokens)
    body(first, std::min(kTileTokens, end - first));
}

// The gradient of one parameter: zeros of its shape for every shard, added up in order. An
// undefined parameter has none.
class ShardedGradient {
 public:
  explicit ShardedGradient(const at::Tensor& parameter) {
    if (!parameter.defined()) return;
    std::vector<int64_t> shape = {ShardCount()};
    shape.insert(shape.end(), parameter.sizes().begin(), parameter.sizes().end());
    sums_ = at::zeros(shape, parameter.options().requires_grad(false));
    size_ = parameter.numel();
  }
  bool defined() const { return sums_.defined(); }
  float* At(int64_t shard) { return sums_.mutable_data_ptr<float>() + shard * size_; }
  at::Tensor Total() const {
    if (!sums_.defined()) return sums_;
    at::Tensor total = sums_.select(0, 0);
    for (int64_t shard = 1; shard < sums_.size(0); ++shard) total = total + sums_.select(0, shard);
    return total;
  }

 private:
  at::Tensor sums_;
  int64_t size_ = 0;
};

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_TOKEN_TILES_H_
