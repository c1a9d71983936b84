// The groups of sparse patterns, a tile of them at a time: what both forms of grouped attention
// share. Private to this folder.
#ifndef LRA_MODELS_KERNELS_GROUPED_PATTERN_H_
#define LRA_MODELS_KERNELS_GROUPED_PATTERN_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/custom_class.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/kernels/dropout.h"
#include "models/kernels/grouped_attention.h"

namespace lra::internal {

struct Pattern : torch::CustomClassHolder {
  std::vector<AttentionGroups> parts;
  at::Tensor keep;
  DropoutKey dropout;
};

// Consecutive groups of a part, and a range of query places in them.
struct Range {
  int64_t first_group, groups, first_query, queries;
};

// The tokens of a range of groups.
class PatternTile {
 public:
  PatternTile(const at::Tensor& q, const Pattern& pattern, const AttentionGroups& part,
              const Range& range);

  // Positions [G, Lq] and [G, Lk]; -1 for none, and for masked keys.
  const at::Tensor& queries() const { return queries_; }
  const at::Tensor& keys() const { return keys_; }
  int64_t first() const { return range_.first_group; }
  int64_t first_query() const { return range_.first_query; }
  const AttentionGroups& part() const { return part_; }
  GroupTile Positions() const { return {queries_.unsqueeze(2), keys_.unsqueeze(1), table_}; }
  // The rows of `pairs` [Lq, Lk] that belong to the range.
  at::Tensor Places(const at::Tensor& pairs) const {
    return pairs.narrow(0, range_.first_query, range_.queries);
  }
  // The mask of weight dropout, float32 [G, Lq, Lk].
  at::Tensor Dropout() const;

 private:
  at::Tensor PositionsOf(const TokenRuns& runs, int64_t tokens) const;
  void DropMaskedKeys(int64_t tokens);

  const Pattern& pattern_;
  const AttentionGroups& part_;
  const Range range_;
  const int64_t heads_;
  at::Tensor group_, table_, queries_, keys_;
};

inline int64_t LengthOf(const TokenRuns& runs) { return runs.starts.size(3) * runs.run_tokens; }

// How many groups there are in a tile, and how many of their queries.
struct TileSize {
  int64_t groups, queries;
};

// Tiles of at most `weights` pairs, but for one query.
inline TileSize SizeByWeights(int64_t weights, int64_t queries, int64_t keys) {
  const int64_t groups = std::max<int64_t>(1, weights / (queries * keys));
  return {groups, groups > 1 ? queries : std::clamp<int64_t>(weights / keys, 1, queries)};
}

// Calls use(tile, number of its part) for all tiles; size(part, queries, keys) returns their
// TileSize.
template <class Size, class Use>
void ForEachTile(const at::Tensor& q, const Pattern& pattern, Size size, Use use) {
  for (size_t p = 0; p < pattern.parts.size(); ++p) {
    const AttentionGroups& part = pattern.parts[p];
    const int64_t queries = LengthOf(part.queries), keys = LengthOf(part.keys);
    if (queries == 0 || keys == 0) continue;
    const int64_t total =
        std::max(part.queries.starts.size(2), part.keys.starts.size(2)) * q.size(0) * q.size(1);
    const TileSize step = size(part, queries, keys);
    for (int64_t group = 0; group < total; group += step.groups) {
      for (int64_t query = 0; query < queries; query += step.queries) {
        use(PatternTile(q, pattern, part,
                        {group, std::min(step.groups, total - group), query,
                         std::min(step.queries, queries - query)}),
            p);
      }
    }
  }
}

// The number of weights in a tile: few enough for the last cache, many enough for all threads.
constexpr int64_t kTileWeights = int64_t{1} << 19;
// On a device: 256 MB of float32, so that few operators are launched.
constexpr int64_t kDeviceTileWeights = int64_t{1} << 26;

struct GroupedState {
  at::Tensor output;  // [B, H, N, Dv]
  // The logarithm of each row's sum of exponentials, [B, H, N, 1], and kHiddenSum without keys. Its
  // base is 2 in the tiled form and e in the generic one.
  at::Tensor sums;
};
// Used instead of -infinity, whose differences are NaN. exp(kHiddenSum - x) is 0 for any logit x.
constexpr double kHiddenSum = -1e30;

// The score of a part's self_pairs.
inline double SelfScore(const AttentionGroups& part) {
  return part.hides_self_pairs ? kHiddenSum : kSelfLogit;
}

struct GroupedGradients {
  at::Tensor q, k, v;
};

// For float32 on the CPU. Results do not depend on the number of threads.
GroupedState GroupedForwardTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const Pattern& pattern);
GroupedGradients GroupedBackwardTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const GroupedState& state, const at::Tensor& upstream,
                                      const Pattern& pattern);

}  // namespace lra::internal

#endif  // LRA_MODELS_KERNELS_GROUPED_PATTERN_H_
