// Block attention for float32 on the CPU. A block's keys and values are copied side by side, the
// kept ones only; its queries stand in the lanes of tiles of scores (lane_tiles.h), and all keys of
// the block are in one tile. So the softmax takes one pass, and nothing is saved for the backward.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "models/kernels/block_attention.h"
#include "models/kernels/floats.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/lane_tiles.h"
#include "models/kernels/row_fetcher.h"
#include "models/kernels/softmax_attention_tiles.h"

namespace lra::internal {
namespace {

// Queries of a tile where all see the same keys; fewer where later ones see more.
constexpr int64_t kCausalLanes = 32;

struct BlockPlace {
  int64_t example, head, first, count;  // tokens
};

// One set of keys.
struct BlockKeySet {
  HeadRows k, v;
  KeepTable keep;
};

struct BlockProblem {
  BlockProblem(const at::Tensor& queries, const std::vector<BlockKeys>& keys, int64_t block_tokens,
               bool is_causal)
      : q(queries),
        batch(queries.size(0)),
        heads(queries.size(1)),
        tokens(queries.size(2)),
        width(queries.size(3)),
        value_width(keys[0].v.size(3)),
        padded_width(RoundUp(width, 16)),
        padded_value_width(RoundUp(value_width, 16)),
        block(std::min(block_tokens, tokens)),
        key_rows(static_cast<int64_t>(keys.size()) * block),
        causal(is_causal),
        scale(static_cast<float>(1 / std::sqrt(static_cast<double>(width)))) {
    for (const BlockKeys& set : keys)
      sets.push_back({HeadRows(set.k), HeadRows(set.v), KeepTable(set.keep)});
  }

  const HeadRows q;
  std::vector<BlockKeySet> sets;
  const int64_t batch, heads, tokens, width, value_width, padded_width, padded_value_width, block,
      key_rows;
  const bool causal;
  const float scale;
};

// The kept keys of a block in one set, as places in the block.
struct KeptPlaces {
  std::vector<int32_t> places;
  int64_t count = 0;

  void Find(const bool* keep, int64_t tokens) {
    count = 0;
    for (int64_t i = 0; i < tokens; ++i) {
      if (keep == nullptr || keep[i]) places[count++] = static_cast<int32_t>(i);
    }
  }
  // How many there are among the first `tokens`.
  int64_t Before(int64_t tokens) const {
    return std::lower_bound(places.begin(), places.begin() + count, tokens) - places.begin();
  }
};

// The queries first .. first + count - 1 of a block in `lanes` lanes, and the keys that they see:
// the first `keys` rows that PackKeys() leaves.
struct BlockTile {
  int64_t first, count, lanes, keys;
};

// One block at a time; scratch of one thread.
class BlockWorker {
 public:
  explicit BlockWorker(const BlockProblem& p)
      : p_(p),
        most_lanes_(std::min(RoundUp(p.block, 16), p.causal ? kCausalLanes : kMostLanes)),
        keys_(p.key_rows * p.padded_width),
        values_(p.key_rows * p.padded_value_width),
        columns_(most_lanes_ * p.width),
        weights_(p.key_rows * most_lanes_),
        zeros_(std::max({kMostLanes, p.padded_width, p.padded_value_width})),
        results_(most_lanes_ * std::max(p.padded_width, p.padded_value_width)) {
    for (size_t s = 0; s < p.sets.size(); ++s) kept_[s].places.resize(p.block);
  }

  void Forward(const BlockPlace& at, const HeadRows& output) {
    PackKeys(at);
    for (int64_t first = 0; first < at.count; first += most_lanes_) {
      const BlockTile tile = TileAt(at, first);
      PackLanes({tile.count, tile.lanes, p_.width}, Row(p_.q, at, first), p_.q.stride(), nullptr,
                kLog2E, columns_.get());
      Weigh(tile);
      ScaleLanes(tile.keys, tile.lanes, inverse_, weights_.get());
      ToQueries(at, tile, weights_.get(), values_.get(), p_.value_width, output);
    }
  }

  // Lists what the block needs, to be fetched while another is in work.
  void FetchNext(const BlockPlace& at) {
    fetcher_.Clear();
    fetcher_.Add(Row(p_.q, at, 0), p_.q.stride(), at.count, p_.width);
    for (const BlockKeySet& set : p_.sets) {
      fetcher_.Add(Row(set.k, at, 0), set.k.stride(), at.count, p_.width);
      fetcher_.Add(Row(set.v, at, 0), set.v.stride(), at.count, p_.value_width);
    }
  }

 protected:
  // A product, and rows of the next block on the side.
  void Multiply(const TileProduct& product) {
    constexpr int64_t kFetchedRows = 12;
    MultiplyAndFetch(product, kFetchedRows, &fetcher_);
  }

  static constexpr float kLog2E = std::numbers::log2e_v<float>;

  static float* Row(const HeadRows& x, const BlockPlace& at, int64_t row) {
    return x.At(at.example, at.head, at.first + row);
  }

  BlockTile TileAt(const BlockPlace& at, int64_t first) const {
    const int64_t count = std::min(most_lanes_, at.count - first);
    const int64_t own = p_.causal ? kept_[0].Before(first + count) : kept_[0].count;
    return {first, count, RoundUp(count, 16), kept_[1].count + own};
  }

  // Copies the kept keys and values of the block: those of the second set, then those of the first,
  // so that what a causal query sees comes first. Keys are multiplied by the scale.
  void PackKeys(const BlockPlace& at) {
    int64_t rows = 0;
    for (size_t s = p_.sets.size(); s-- > 0;) {
      const BlockKeySet& set = p_.sets[s];
      kept_[s].Find(set.keep.At(at.example, at.first), at.count);
      const int64_t count = kept_[s].count;
      const int32_t* index = count == at.count ? nullptr : kept_[s].places.data();
      PackRows({count, count, p_.width, p_.padded_width}, Row(set.k, at, 0), set.k.stride(), index,
               p_.scale, keys_.get() + rows * p_.padded_width);
      PackRows({count, count, p_.value_width, p_.padded_value_width}, Row(set.v, at, 0),
               set.v.stride(), index, 1.0f, values_.get() + rows * p_.padded_value_width);
      rows += count;
    }
  }

  // weights_ = 2^(score - the highest score of the query), inverse_ = 1 / their sums, given the
  // queries in columns_; 0 where a query sees no key.
  void Weigh(const BlockTile& tile) {
    Multiply({tile.keys, p_.width, tile.lanes, keys_.get(), p_.padded_width, false, columns_.get(),
              tile.lanes, zeros_.data(), weights_.get(), tile.lanes});
    if (p_.causal) HideLater(tile);
    float highest[kMostLanes], sums[kMostLanes] = {};
    std::fill_n(highest, tile.lanes, kHiddenScore);
    RaiseToHighest(tile.keys, tile.lanes, weights_.get(), highest);
    for (int64_t lane = 0; lane < tile.lanes; ++lane)
      highest[lane] = highest[lane] > kHiddenScore / 2 ? highest[lane] : 0.0f;
    ExponentiateLanes(tile.keys, tile.lanes, highest, weights_.get(), sums);
    for (int64_t lane = 0; lane < tile.lanes; ++lane)
      inverse_[lane] = sums[lane] > 0 ? 1.0f / sums[lane] : 0.0f;
  }

  // A query sees no later key of the first set.
  void HideLater(const BlockTile& tile) {
    const int64_t own = tile.keys - kept_[1].count;
    for (int64_t j = own; j-- > 0 && kept_[0].places[j] > tile.first;) {
      float* row = weights_.get() + (kept_[1].count + j) * tile.lanes;
      std::fill_n(row, kept_[0].places[j] - tile.first, kHiddenScore);
    }
  }

  // The tile's rows of `to` = tile^T rows: [key][lane] and [key][width] -> [query][width].
  void ToQueries(const BlockPlace& at, const BlockTile& tile, const float* weights,
                 const float* rows, int64_t width, const HeadRows& to) {
    const int64_t padded = RoundUp(width, 16);
    float* target = Row(to, at, tile.first);
    const bool is_direct = padded == width;
    Multiply({tile.count, tile.keys, padded, weights, tile.lanes, true, rows, padded, zeros_.data(),
              is_direct ? target : results_.get(), is_direct ? to.stride() : padded});
    for (int64_t q = 0; !is_direct && q < tile.count; ++q)
      std::copy_n(results_.get() + q * padded, width, target + q * to.stride());
  }

  const BlockProblem& p_;
  const int64_t most_lanes_;
  KeptPlaces kept_[2];
  Floats keys_, values_;  // [kept key][padded width]
  Floats columns_;        // [D][lane]
  Floats weights_;        // [key][lane]
  RowFetcher fetcher_;
  const std::vector<float> zeros_;  // what products start from
  float inverse_[kMostLanes];

 private:
  Floats results_;  // [query][padded width]
};

struct SetGradients {
  HeadRows k, v;
};

class BlockBackwardWorker : public BlockWorker {
 public:
  BlockBackwardWorker(const BlockProblem& p, const at::Tensor& upstream,
                      const at::Tensor& query_gradient,
                      const std::vector<SetGradients>& key_gradients)
      : BlockWorker(p),
        upstream_(upstream),
        query_gradient_(query_gradient),
        key_gradients_(key_gradients),
        gradients_(p.key_rows * most_lanes_),
        upstream_columns_(most_lanes_ * p.value_width),
        query_rows_(most_lanes_ * p.padded_width),
        upstream_rows_(most_lanes_ * p.padded_value_width),
        key_sums_(p.key_rows * p.padded_width),
        value_sums_(p.key_rows * p.padded_value_width) {}

  void Run(const BlockPlace& at) {
    PackKeys(at);
    // The last queries come first, because they see all keys that any query of the block sees.
    const int64_t last = (at.count - 1) / most_lanes_ * most_lanes_;
    const bool is_direct = AreSumsDirect(at);
    for (int64_t first = last; first >= 0; first -= most_lanes_)
      AddTile(at, TileAt(at, first), first == last, is_direct);
    if (is_direct) return;
    int64_t row = 0;
    for (size_t s = p_.sets.size(); s-- > 0; row += kept_[s].count) {
      Scatter(at, kept_[s], key_sums_.get() + row * p_.padded_width, p_.padded_width, p_.width,
              key_gradients_[s].k);
      Scatter(at, kept_[s], value_sums_.get() + row * p_.padded_value_width, p_.padded_value_width,
              p_.value_width, key_gradients_[s].v);
    }
  }

  void FetchNext(const BlockPlace& at) {
    BlockWorker::FetchNext(at);
    fetcher_.Add(Row(upstream_, at, 0), upstream_.stride(), at.count, p_.value_width);
  }

 private:
  // Whether the sums of dK and dV can be formed where they belong.
  bool AreSumsDirect(const BlockPlace& at) const {
    for (size_t s = 0; s < p_.sets.size(); ++s) {
      if (kept_[s].count != at.count) return false;
    }
    return p_.padded_width == p_.width && p_.padded_value_width == p_.value_width;
  }

  void AddTile(const BlockPlace& at, const BlockTile& tile, bool is_first, bool is_direct) {
    PackQueries(at, tile);
    Weigh(tile);
    Multiply({tile.keys, p_.value_width, tile.lanes, values_.get(), p_.padded_value_width, false,
              upstream_columns_.get(), tile.lanes, zeros_.data(), gradients_.get(), tile.lanes});
    float row_sums[kMostLanes] = {};
    AddLaneProducts(tile.keys, tile.lanes, weights_.get(), gradients_.get(), row_sums);
    for (int64_t lane = 0; lane < tile.lanes; ++lane) row_sums[lane] *= inverse_[lane];
    LaneScoreGradients(tile.keys, tile.lanes, inverse_, row_sums, weights_.get(), gradients_.get());
    ToQueries(at, tile, gradients_.get(), keys_.get(), p_.width, query_gradient_);
    const float* start = is_first ? zeros_.data() : nullptr;
    if (!is_direct) {
      ToKeys(tile, 0, tile.keys, weights_.get(), upstream_rows_.get(), p_.padded_value_width, start,
             value_sums_.get(), p_.padded_value_width);
      return ToKeys(tile, 0, tile.keys, gradients_.get(), query_rows_.get(), p_.padded_width, start,
                    key_sums_.get(), p_.padded_width);
    }
    int64_t row = 0;
    for (size_t s = p_.sets.size(); s-- > 0; row += kept_[s].count) {
      const int64_t keys = s == 0 ? tile.keys - row : kept_[s].count;
      const SetGradients& to = key_gradients_[s];
      ToKeys(tile, row, keys, weights_.get(), upstream_rows_.get(), p_.padded_value_width, start,
             Row(to.v, at, 0), to.v.stride());
      ToKeys(tile, row, keys, gradients_.get(), query_rows_.get(), p_.padded_width, start,
             Row(to.k, at, 0), to.k.stride());
    }
  }

  void PackQueries(const BlockPlace& at, const BlockTile& tile) {
    PackRows({tile.count, tile.count, p_.width, p_.padded_width}, Row(p_.q, at, tile.first),
             p_.q.stride(), nullptr, 1.0f, query_rows_.get());
    PackRows({tile.count, tile.count, p_.value_width, p_.padded_value_width},
             Row(upstream_, at, tile.first), upstream_.stride(), nullptr, 1.0f,
             upstream_rows_.get());
    PackLanes({tile.count, tile.lanes, p_.width}, query_rows_.get(), p_.padded_width, nullptr,
              kLog2E, columns_.get());
    PackLanes({tile.count, tile.lanes, p_.value_width}, upstream_rows_.get(), p_.padded_value_width,
              nullptr, 1.0f, upstream_columns_.get());
    for (int64_t i = 0; i < tile.count * p_.padded_width; ++i) query_rows_.get()[i] *= p_.scale;
  }

  // out (+)= rows first .. first + keys - 1 of a tile times rows of queries.
  void ToKeys(const BlockTile& tile, int64_t first, int64_t keys, const float* weights,
              const float* rows, int64_t width, const float* start, float* out, int64_t stride) {
    Multiply({keys, tile.count, width, weights + first * tile.lanes, tile.lanes, false, rows, width,
              start, out, stride});
  }

  // Writes the sums of the kept keys of a block to their places, and 0 to all others.
  static void Scatter(const BlockPlace& at, const KeptPlaces& kept, const float* sums,
                      int64_t stride, int64_t width, const HeadRows& to) {
    for (int64_t i = 0, next = 0; i < at.count; ++i) {
      const bool is_kept = next < kept.count && kept.places[next] == i;
      float* row = Row(to, at, i);
      if (is_kept) std::copy_n(sums + next++ * stride, width, row);
      if (!is_kept) std::fill_n(row, width, 0.0f);
    }
  }

  const HeadRows upstream_, query_gradient_;
  const std::vector<SetGradients>& key_gradients_;
  Floats gradients_;                   // [key][lane]
  Floats upstream_columns_;            // [Dv][lane]
  Floats query_rows_, upstream_rows_;  // [query][padded width]
  Floats key_sums_, value_sums_;       // [kept key][padded width]
};

// body(worker, place) for every block of every head, heads innermost: their rows are neighbours.
template <class MakeWorker, class Body>
void ForBlocks(const BlockProblem& p, MakeWorker make_worker, Body body) {
  const int64_t blocks = (p.tokens + p.block - 1) / p.block;
  at::parallel_for(0, p.batch * blocks * p.heads, 1, [&](int64_t begin, int64_t end) {
    auto worker = make_worker();
    const auto place = [&](int64_t i) {
      const int64_t first = i / p.heads % blocks * p.block;
      return BlockPlace{i / p.heads / blocks, i % p.heads, first,
                        std::min(p.block, p.tokens - first)};
    };
    for (int64_t i = begin; i < end; ++i) {
      worker.FetchNext(place(std::min(i + 1, end - 1)));
      body(&worker, place(i));
    }
  });
}

}  // namespace

at::Tensor BlockAttentionForwardTiled(const at::Tensor& q, const std::vector<BlockKeys>& keys,
                                      int64_t block_tokens, bool causal) {
  const BlockProblem p(q, keys, block_tokens, causal);
  const at::Tensor output = EmptyHeads(q, p.value_width);
  const HeadRows rows(output);
  ForBlocks(
      p, [&] { return BlockWorker(p); },
      [&](BlockWorker* worker, const BlockPlace& at) { worker->Forward(at, rows); });
  return output;
}

std::vector<at::Tensor> BlockAttentionBackwardTiled(const at::Tensor& upstream, const at::Tensor& q,
                                                    const std::vector<BlockKeys>& keys,
                                                    int64_t block_tokens, bool causal) {
  const BlockProblem p(q, keys, block_tokens, causal);
  std::vector<at::Tensor> result = {EmptyHeads(q, p.width)};
  std::vector<SetGradients> sums;
  for (size_t s = 0; s < keys.size(); ++s) {
    const at::Tensor k = EmptyHeads(q, p.width), v = EmptyHeads(q, p.value_width);
    sums.push_back({HeadRows(k), HeadRows(v)});
    result.insert(result.end(), {k, v});
  }
  ForBlocks(
      p, [&] { return BlockBackwardWorker(p, upstream, result[0], sums); },
      [&](BlockBackwardWorker* worker, const BlockPlace& at) { worker->Run(at); });
  return result;
}

}  // namespace lra::internal
