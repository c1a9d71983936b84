// What forward and backward of the register form share: the problem, its tiles and the scratch of a
// thread. A chunk of query tiles stays in the second-level cache while the keys pass by in tiles;
// masked keys are left out when a tile is packed, hidden tiles are skipped.
#ifndef LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_WORKER_H_
#define LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_WORKER_H_

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numbers>
#include <vector>

#include "models/kernels/floats.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/softmax_attention.h"
#include "models/kernels/softmax_attention_tiles.h"

namespace lra::internal {

constexpr float kLog2E = std::numbers::log2e_v<float>;
constexpr int64_t kTileFloats = kKeyTile * kQueryTile;

// The kept keys of every example, in order.
class KeptKeys {
 public:
  explicit KeptKeys(const SoftmaxInput& input);
  int64_t Count(int64_t example) const {
    return lists_.empty() ? keys_ : static_cast<int64_t>(lists_[example].index.size());
  }
  // How many kept keys there are among the first `keys`.
  int32_t Before(int64_t example, int64_t keys) const {
    const int64_t bounded = std::clamp<int64_t>(keys, 0, keys_);
    return lists_.empty() ? static_cast<int32_t>(bounded) : lists_[example].before[bounded];
  }
  // Where the kept keys from number `first` on are; null = at `first`, `first` + 1, ...
  const int32_t* Index(int64_t example, int64_t first) const {
    return lists_.empty() ? nullptr : lists_[example].index.data() + first;
  }

 private:
  struct List {
    std::vector<int32_t> index, before;
  };
  const int64_t keys_;
  std::vector<List> lists_;  // empty = all kept
};

struct Problem {
  explicit Problem(const SoftmaxInput& input);

  const SoftmaxInput& input;
  const HeadRows q, k, v;
  const KeptKeys kept;
  const DropoutRows dropout;
  const at::Tensor bias;            // dense
  const std::vector<float> slopes;  // of each head, to base 2; or empty
  const int64_t batch, heads, queries, width, value_width, padded_width, padded_value_width;
  const int64_t chunk_tiles;  // tiles of queries that share a pass over the keys
  const float scale;

  int64_t KeyRows() const { return RoundUp(input.k.size(2), kKeyTile); }
  // In how many ranges of queries work is divided so that there are about `wanted` units; depends
  // on the shape only.
  int64_t Splits(int64_t units, int64_t wanted) const;
  // Where range number `split` begins.
  int64_t SplitEdge(int64_t split, int64_t splits) const;
};

struct Place {
  int64_t example, head;
};

struct KeySpan {
  int64_t first, count;  // among the kept keys
  const int32_t* index;  // KeptKeys::Index
  int64_t Original(int64_t j) const { return index == nullptr ? first + j : index[j]; }
};

// One tile of queries: which keys they see, as numbers of kept keys.
struct QuerySpan {
  QuerySpan() = default;
  QuerySpan(const Problem& p, int64_t example, int64_t first, int64_t end);
  int64_t VisibleOf(const KeySpan& keys) const {
    return std::clamp<int64_t>(most - keys.first, 0, keys.count);
  }

  int64_t first = 0, count = 0;
  int32_t visible[kQueryTile];
  int32_t least = 0, most = 0;
};

class Worker {
 public:
  explicit Worker(const Problem& p);

 protected:
  // The tile of kept keys from number `first` on.
  KeySpan Tile(const Place& at, int64_t first) const;
  // weights_ = scores, base 2, of the first `count` keys, - minus[q]; hidden ones are hidden.
  // Products: models/kernels/softmax_attention_products.h
  template <class Products>
  void Scores(const Products& products, const Place& at, int64_t t, const KeySpan& keys,
              int64_t count, const float* minus) {
    float start[kQueryTile];
    for (int64_t lane = 0; lane < kQueryTile; ++lane) start[lane] = -minus[lane];
    const QuerySpan& queries = spans_[t];
    const bool is_begun = p_.bias.defined() || !p_.slopes.empty();
    if (is_begun) BeginTile(at.head, queries, keys, count, start);
    products.Scores(t, keys, count, is_begun ? nullptr : start, weights_.get());
    if (queries.least < keys.first + count)
      HideKeys(count, keys.first, queries.visible, weights_.get());
  }
  // bits_ = the bits of weight dropout, [key][query].
  void DrawBits(const Place& at, const QuerySpan& queries, const KeySpan& keys, int64_t count);

  const Problem& p_;
  Floats weights_;  // [key][query]
  std::vector<uint16_t> bits_;
  std::vector<QuerySpan> spans_;  // of the chunk

 private:
  // weights_ = what is added to the products: start[q], bias and distances.
  void BeginTile(int64_t head, const QuerySpan& queries, const KeySpan& keys, int64_t count,
                 const float* start);
  void AddBias(int64_t head, const QuerySpan& queries, const KeySpan& keys, int64_t count);
};

// body(worker, unit) for every unit, on whichever thread is free; results must not depend on it.
template <class MakeWorker, class Body>
void ForUnits(int64_t units, MakeWorker make_worker, Body body) {
  std::atomic<int64_t> next = 0;
  const int64_t threads = std::min<int64_t>(at::get_num_threads(), units);
  at::parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t thread = begin; thread < end; ++thread) {
      auto worker = make_worker();
      for (int64_t unit = next++; unit < units; unit = next++) body(&worker, unit);
    }
  });
}

}  // namespace lra::internal

#endif  // LRA_MODELS_KERNELS_SOFTMAX_ATTENTION_WORKER_H_
