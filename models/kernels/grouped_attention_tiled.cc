// Grouped attention for float32 on the CPU. The forward joins the softmaxes of a query's parts and
// chunks of keys through its output and its sum so far; the backward needs only the final sum.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "models/kernels/grouped_worker.h"
#include "models/kernels/vector_math.h"

namespace lra::internal {
namespace {

// Tiles of groups whose pairs need no numbers are larger: a position takes 8 bytes.
constexpr int64_t kTilePlaces = int64_t{1} << 17;

// Zeros [B, H, N, width]; in memory they are [B, N, H, width].
at::Tensor ZeroHeads(const at::Tensor& like, int64_t width) {
  return at::zeros({like.size(0), like.size(2), like.size(1), width},
                   like.options().requires_grad(false))
      .transpose(1, 2);
}

// The sums [B, H, N, 1] of one (example, head).
struct SumRows {
  explicit SumRows(const at::Tensor& sums)
      : data(const_cast<float*>(sums.const_data_ptr<float>())),
        heads(sums.size(1)),
        tokens(sums.size(2)) {}
  float* At(int64_t example, int64_t head) const {
    return data + (example * heads + head) * tokens;
  }
  float* const data;
  const int64_t heads, tokens;
};

class GroupForwardWorker : public GroupWorker {
 public:
  GroupForwardWorker(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const GroupedState& state)
      : GroupWorker(q, k, v),
        output_(state.output),
        sums_(state.sums),
        totals_(kMostLanes * padded_value_width_) {}

  // Joins a group's keys to what its queries have seen so far; `is_first`: nothing.
  void Run(const TileData& data, const GroupPlace& at, bool is_first) {
    if (at.first == 0) FindKeys(data, at.group);
    if (!GatherQueries(data, at, q_, width_, padded_width_, rows_.get())) return;
    PackLanes({at.count, at.lanes, width_}, rows_.get(), padded_width_, nullptr, kScoreBase,
              columns_.get());
    Load(data, at, is_first);
    for (int64_t first = 0; first < KeyCount(); first += kChunkKeys)
      AddChunk(data, at, first, std::min(kChunkKeys, KeyCount() - first));
    Store(data, at);
  }

 private:
  const int64_t* Places(const TileData& data, const GroupPlace& at) const {
    return data.queries.const_data_ptr<int64_t>() + at.group * data.query_places() + at.first;
  }

  // What was seen so far counts as one key, with the output as its value and the sum as its score.
  void Load(const TileData& data, const GroupPlace& at, bool is_first) {
    std::fill_n(highest_, kMostLanes, kHiddenScore);
    std::fill_n(row_sums_, kMostLanes, 0.0f);
    std::fill_n(totals_.get(), at.count * padded_value_width_, 0.0f);
    if (is_first) return;
    GatherQueries(data, at, output_, value_width_, padded_value_width_, totals_.get());
    const int64_t* places = Places(data, at);
    for (int64_t lane = 0; lane < at.count; ++lane) {
      if (places[lane] < 0) continue;
      highest_[lane] = sums_.At(at.example, at.head)[places[lane]];
      row_sums_[lane] = highest_[lane] > kHiddenScore / 2 ? 1.0f : 0.0f;
    }
  }

  void AddChunk(const TileData& data, const GroupPlace& at, int64_t first, int64_t count) {
    PackChunk(at, first, count);
    Score(data, at, first, count);
    Raise(at, count);
    float shift[kMostLanes];
    for (int64_t lane = 0; lane < at.lanes; ++lane)
      shift[lane] = highest_[lane] > kHiddenScore / 2 ? highest_[lane] : 0.0f;
    ExponentiateLanes(count, at.lanes, shift, weights_.get(), row_sums_);
    if (data.dropout.defined()) ApplyDropout(data, at, first, count, weights_.get());
    MultiplyTile({at.count, count, padded_value_width_, weights_.get(), at.lanes, true,
                  values_.get(), padded_value_width_, nullptr, totals_.get(), padded_value_width_});
  }

  // Raises highest_ to the chunk's scores, and scales what was summed down accordingly.
  void Raise(const GroupPlace& at, int64_t count) {
    float fade[kMostLanes], unused[kMostLanes] = {};
    std::copy_n(highest_, at.lanes, fade);
    RaiseToHighest(count, at.lanes, weights_.get(), highest_);
    if (std::equal(highest_, highest_ + at.lanes, fade)) return;
    ExponentiateLanes(1, at.lanes, highest_, fade, unused);
    for (int64_t q = 0; q < at.lanes; ++q) {
      if (fade[q] == 1.0f) continue;
      row_sums_[q] *= fade[q];
      float* row = totals_.get() + q * padded_value_width_;
      for (int64_t c = 0; q < at.count && c < padded_value_width_; ++c) row[c] *= fade[q];
    }
  }

  void Store(const TileData& data, const GroupPlace& at) {
    const int64_t* places = Places(data, at);
    for (int64_t q = 0; q < at.count; ++q) {
      if (places[q] < 0 || row_sums_[q] == 0) continue;
      const float inverse = 1.0f / row_sums_[q];
      const float* row = totals_.get() + q * padded_value_width_;
      float* out = output_.At(at.example, at.head, places[q]);
      for (int64_t c = 0; c < value_width_; ++c) out[c] = row[c] * inverse;
      sums_.At(at.example, at.head)[places[q]] = highest_[q] + std::log2(row_sums_[q]);
    }
  }

  const HeadRows output_;
  const SumRows sums_;
  Floats totals_;  // [query][padded width]
  float highest_[kMostLanes], row_sums_[kMostLanes];
};

// With weights P, the dropout mask Z and delta = upstream . output:
//  dV = (P Z)^T upstream,   d(score) = P (Z (upstream V^T) - delta)
class GroupBackwardWorker : public GroupWorker {
 public:
  GroupBackwardWorker(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const GroupedState& state, const at::Tensor& upstream,
                      const GroupedGradients& to)
      : GroupWorker(q, k, v),
        output_(state.output),
        upstream_(upstream),
        sums_(state.sums),
        dq_(to.q),
        dk_(to.k),
        dv_(to.v),
        ones_(kMostLanes, 1.0f),
        gradients_(kChunkKeys * kMostLanes),
        upstream_rows_(kMostLanes * padded_value_width_),
        output_rows_(kMostLanes * padded_value_width_),
        upstream_columns_(kMostLanes * value_width_),
        query_sums_(kMostLanes * padded_width_),
        key_sums_(kChunkKeys * std::max(padded_width_, padded_value_width_)) {}

  void Run(const TileData& data, const GroupPlace& at) {
    if (at.first == 0) FindKeys(data, at.group);
    if (KeyCount() == 0 || !PackQueries(data, at)) return;
    std::fill_n(query_sums_.get(), at.count * padded_width_, 0.0f);
    for (int64_t first = 0; first < KeyCount(); first += kChunkKeys)
      AddChunk(data, at, first, std::min(kChunkKeys, KeyCount() - first));
    const int64_t* places =
        data.queries.const_data_ptr<int64_t>() + at.group * data.query_places() + at.first;
    for (int64_t q = 0; q < at.count; ++q) {
      if (places[q] >= 0) {
        AddRow(query_sums_.get() + q * padded_width_, width_,
               dq_.At(at.example, at.head, places[q]));
      }
    }
  }

 private:
  static void AddRow(const float* row, int64_t width, float* to) {
    for (int64_t c = 0; c < width; ++c) to[c] += row[c];
  }

  bool PackQueries(const TileData& data, const GroupPlace& at) {
    if (!GatherQueries(data, at, q_, width_, padded_width_, rows_.get())) return false;
    GatherQueries(data, at, upstream_, value_width_, padded_value_width_, upstream_rows_.get());
    GatherQueries(data, at, output_, value_width_, padded_value_width_, output_rows_.get());
    PackLanes({at.count, at.lanes, width_}, rows_.get(), padded_width_, nullptr, kScoreBase,
              columns_.get());
    PackLanes({at.count, at.lanes, value_width_}, upstream_rows_.get(), padded_value_width_,
              nullptr, 1.0f, upstream_columns_.get());
    for (int64_t i = 0; i < at.count * padded_width_; ++i) rows_.get()[i] *= scale_;
    const int64_t* places =
        data.queries.const_data_ptr<int64_t>() + at.group * data.query_places() + at.first;
    std::fill_n(deltas_, kMostLanes, 0.0f);
    std::fill_n(shifts_, kMostLanes, -kHiddenScore);  // rows without keys have weights of 0
    for (int64_t q = 0; q < at.count; ++q) {
      const int64_t row = q * padded_value_width_;
      deltas_[q] =
          DotLanes(upstream_rows_.get() + row, output_rows_.get() + row, padded_value_width_);
      if (places[q] < 0) continue;
      const float sum = sums_.At(at.example, at.head)[places[q]];
      if (sum > kHiddenScore / 2) shifts_[q] = sum;
    }
    return true;
  }

  void AddChunk(const TileData& data, const GroupPlace& at, int64_t first, int64_t count) {
    PackChunk(at, first, count);
    Score(data, at, first, count);
    float *weights = weights_.get(), *gradients = gradients_.get(), unused[kMostLanes] = {};
    ExponentiateLanes(count, at.lanes, shifts_, weights, unused);
    MultiplyTile({count, value_width_, at.lanes, values_.get(), padded_value_width_, false,
                  upstream_columns_.get(), at.lanes, zeros_.data(), gradients, at.lanes});
    if (data.dropout.defined()) ApplyDropout(data, at, first, count, gradients);
    LaneScoreGradients(count, at.lanes, ones_.data(), deltas_, weights, gradients);
    for (int64_t j = 0; j < count; ++j) {  // constants have no gradient
      data.tables.ForSelf(key_columns_[first + j], data.first_query + at.first, at.count,
                          [&](int64_t lane) { gradients[j * at.lanes + lane] = 0; });
    }
    if (data.dropout.defined()) ApplyDropout(data, at, first, count, weights);
    ToKeys(at, first, count, weights, upstream_rows_.get(), value_width_, padded_value_width_, dv_);
    ToKeys(at, first, count, gradients, rows_.get(), width_, padded_width_, dk_);
    MultiplyTile({at.count, count, padded_width_, gradients, at.lanes, true, keys_.get(),
                  padded_width_, nullptr, query_sums_.get(), padded_width_});
  }

  // Adds tile rows [key][lane] times rows of queries to the rows of the chunk's keys.
  void ToKeys(const GroupPlace& at, int64_t first, int64_t count, const float* tile,
              const float* rows, int64_t width, int64_t padded, const HeadRows& to) {
    MultiplyTile({count, at.count, padded, tile, at.lanes, false, rows, padded, zeros_.data(),
                  key_sums_.get(), padded});
    for (int64_t j = 0; j < count; ++j)
      AddRow(key_sums_.get() + j * padded, width,
             to.At(at.example, at.head, key_index_[first + j]));
  }

  const HeadRows output_, upstream_;
  const SumRows sums_;
  const HeadRows dq_, dk_, dv_;
  const std::vector<float> ones_;
  Floats gradients_;                    // [key of the chunk][lane]
  Floats upstream_rows_, output_rows_;  // [query][padded width]
  Floats upstream_columns_;             // [Dv][lane]
  Floats query_sums_, key_sums_;        // [query] and [key of the chunk][padded width]
  float deltas_[kMostLanes], shifts_[kMostLanes];
};

// Calls run(tile data, part) for all tiles.
template <class Run>
void ForEachTileData(const at::Tensor& q, const Pattern& pattern, Run run) {
  std::vector<PairTables> tables;
  for (const AttentionGroups& part : pattern.parts) tables.emplace_back(part);
  const auto size = [&](const AttentionGroups& part, int64_t queries, int64_t keys) {
    if (IsDense(part, pattern)) return SizeByWeights(kTileWeights, queries, keys);
    return TileSize{std::max<int64_t>(1, kTilePlaces / (queries + keys)), queries};
  };
  ForEachTile(q, pattern, size, [&](const PatternTile& tile, size_t part) {
    run(TileData(tile, tables[part], pattern.dropout.active()), part);
  });
}

// Calls run(place) for the queries of a group.
template <class Run>
void ForLanes(const TileData& data, int64_t group, int64_t table, int64_t heads, Run run) {
  for (int64_t first = 0; first < data.query_places(); first += kMostLanes) {
    const int64_t count = std::min(kMostLanes, data.query_places() - first);
    run(GroupPlace{group, table / heads, table % heads, first, count, RoundUp(count, 16)});
  }
}

}  // namespace

GroupedState GroupedForwardTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const Pattern& pattern) {
  const int64_t heads = q.size(1), tables = q.size(0) * heads;
  const GroupedState state = {
      ZeroHeads(q, v.size(3)),
      at::full({q.size(0), heads, q.size(2), 1}, kHiddenSum, q.options().requires_grad(false))};
  ForEachTileData(q, pattern, [&](const TileData& data, size_t part) {
    at::parallel_for(0, data.groups(), 1, [&](int64_t begin, int64_t end) {
      GroupForwardWorker worker(q, k, v, state);
      for (int64_t g = begin; g < end; ++g) {
        ForLanes(data, g, (data.first_group + g) % tables, heads,
                 [&](const GroupPlace& at) { worker.Run(data, at, part == 0); });
      }
    });
  });
  return state;
}

GroupedGradients GroupedBackwardTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const GroupedState& state, const at::Tensor& upstream,
                                      const Pattern& pattern) {
  const int64_t heads = q.size(1), tables = q.size(0) * heads;
  const GroupedGradients out = {ZeroHeads(q, q.size(3)), ZeroHeads(k, k.size(3)),
                                ZeroHeads(v, v.size(3))};
  ForEachTileData(q, pattern, [&](const TileData& data, size_t) {
    // A thread takes all groups of an (example, head), whose sums of dK and dV it adds to.
    at::parallel_for(0, tables, 1, [&](int64_t begin, int64_t end) {
      GroupBackwardWorker worker(q, k, v, state, upstream, out);
      for (int64_t g = 0; g < data.groups(); ++g) {
        const int64_t table = (data.first_group + g) % tables;
        if (table < begin || table >= end) continue;
        ForLanes(data, g, table, heads, [&](const GroupPlace& at) { worker.Run(data, at); });
      }
    });
  });
  return out;
}

}  // namespace lra::internal
