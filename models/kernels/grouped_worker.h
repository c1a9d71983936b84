// What forward and backward of tiled grouped attention share: tables of a part, positions of a tile
// of groups, and the scratch of a thread. The queries of a group stand in the lanes of tiles of
// scores (lane_tiles.h); its keys pass by in chunks.
#ifndef LRA_MODELS_KERNELS_GROUPED_WORKER_H_
#define LRA_MODELS_KERNELS_GROUPED_WORKER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <numbers>
#include <vector>

#include "models/kernels/floats.h"
#include "models/kernels/grouped_pattern.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/lane_tiles.h"
#include "models/kernels/softmax_attention_tiles.h"

namespace lra::internal {

constexpr int64_t kChunkKeys = 128;
constexpr float kScoreBase = std::numbers::log2e_v<float>;  // scores are logarithms to base 2

// The pairs of a part, by key: which queries do not see it, and for which it is the query itself.
class PairTables {
 public:
  explicit PairTables(const AttentionGroups& part);
  // Sets row [lane] of the queries first .. first + count - 1 to kHiddenScore where they do not see
  // the key in this column.
  void Hide(int64_t column, int64_t first, int64_t count, float* row) const;
  // Calls use(lane) for those queries of the range that the key is itself.
  template <class Use>
  void ForSelf(int64_t column, int64_t first, int64_t count, Use use) const {
    if (self_starts_.empty()) return;
    for (int64_t i = self_starts_[column]; i < self_starts_[column + 1]; ++i) {
      if (self_queries_[i] >= first && self_queries_[i] < first + count)
        use(self_queries_[i] - first);
    }
  }

  float self_score() const { return self_score_; }

 private:
  at::Tensor hidden_;            // bool [Lk, Lq]
  std::vector<bool> is_hiding_;  // whether a row of it has anything to hide
  std::vector<int64_t> self_starts_, self_queries_;
  float self_score_ = 0;
};

// What a tile of groups says, as plain memory. Undefined tensors have nothing to say.
struct TileData {
  TileData(const PatternTile& tile, const PairTables& tables, bool has_dropout);

  const PairTables& tables;
  const int64_t first_group, first_query;
  at::Tensor queries, keys;  // int64 [G, Lq], [G, Lk]
  at::Tensor seen_keys;      // bool [G, Lk]
  at::Tensor seen;           // bool [G, Lq, Lk]
  at::Tensor bias;           // float [G, Lq, Lk], base 2
  at::Tensor dropout;        // float [G, Lq, Lk]

  int64_t groups() const { return queries.size(0); }
  int64_t query_places() const { return queries.size(1); }
  int64_t key_places() const { return keys.size(1); }
};

// Whether a part needs a number for each of its pairs.
inline bool IsDense(const AttentionGroups& part, const Pattern& pattern) {
  return part.sees || part.bias || pattern.dropout.active();
}

// Some of a group's queries: `count` of them from place `first` on.
struct GroupPlace {
  int64_t group, example, head, first, count, lanes;
};

class GroupWorker {
 public:
  GroupWorker(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

 protected:
  // Lists the keys of a group that some query may see.
  void FindKeys(const TileData& data, int64_t group);
  int64_t KeyCount() const { return static_cast<int64_t>(key_index_.size()); }
  // Copies the keys, times the scale, and the values from number `first` on.
  void PackChunk(const GroupPlace& at, int64_t first, int64_t count);
  // Copies rows of the group's queries, 0 for those without a position. Returns whether any has.
  static bool GatherQueries(const TileData& data, const GroupPlace& at, const HeadRows& x,
                            int64_t width, int64_t padded, float* out);
  // weights_ = scores, base 2, of the chunk's keys; hidden ones are kHiddenScore.
  void Score(const TileData& data, const GroupPlace& at, int64_t first, int64_t count);
  // Calls use(key of the chunk, lane, number of the pair in [G, Lq, Lk]).
  template <class Use>
  void ForPairs(const TileData& data, const GroupPlace& at, int64_t first, int64_t count,
                Use use) const {
    for (int64_t lane = 0; lane < at.count; ++lane) {
      const int64_t row = (at.group * data.query_places() + at.first + lane) * data.key_places();
      for (int64_t j = 0; j < count; ++j) use(j, lane, row + key_columns_[first + j]);
    }
  }
  void ApplyDropout(const TileData& data, const GroupPlace& at, int64_t first, int64_t count,
                    float* tile) const;

  const HeadRows q_, k_, v_;
  const int64_t width_, value_width_, padded_width_, padded_value_width_;
  const float scale_;
  const std::vector<float> zeros_;                // what products start from
  std::vector<int32_t> key_index_, key_columns_;  // positions, and places in the group
  Floats keys_, values_;                          // [key of the chunk][padded width]
  Floats rows_;                                   // [query][padded width]
  Floats columns_;                                // [D][lane]
  Floats weights_;                                // [key of the chunk][lane]
};

}  // namespace lra::internal

#endif  // LRA_MODELS_KERNELS_GROUPED_WORKER_H_
