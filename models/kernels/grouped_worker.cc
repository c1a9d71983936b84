#include "models/kernels/grouped_worker.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>

namespace lra::internal {

PairTables::PairTables(const AttentionGroups& part) {
  if (part.pairs.defined()) {
    hidden_ = part.pairs.logical_not().t().contiguous();
    const at::Tensor any = hidden_.any(1);
    const bool* is_hiding = any.const_data_ptr<bool>();
    is_hiding_.assign(is_hiding, is_hiding + any.numel());
  }
  if (!part.self_pairs.defined()) return;
  self_score_ = static_cast<float>(SelfScore(part)) * kScoreBase;
  self_starts_.assign(part.self_pairs.size(1) + 1, 0);
  const at::Tensor pairs = part.self_pairs.t().nonzero().contiguous();  // by key
  const int64_t* pair = pairs.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < pairs.size(0); ++i, pair += 2) {
    ++self_starts_[pair[0] + 1];
    self_queries_.push_back(pair[1]);
  }
  for (size_t c = 1; c < self_starts_.size(); ++c) self_starts_[c] += self_starts_[c - 1];
}

void PairTables::Hide(int64_t column, int64_t first, int64_t count, float* row) const {
  if (!hidden_.defined() || !is_hiding_[column]) return;
  const bool* hidden = hidden_.const_data_ptr<bool>() + column * hidden_.size(1) + first;
  for (int64_t lane = 0; lane < count; ++lane) row[lane] = hidden[lane] ? kHiddenScore : row[lane];
}

TileData::TileData(const PatternTile& tile, const PairTables& tables, bool has_dropout)
    : tables(tables),
      first_group(tile.first()),
      first_query(tile.first_query()),
      queries(tile.queries().contiguous()),
      keys(tile.keys().contiguous()) {
  const std::vector<int64_t> all = {groups(), query_places(), key_places()};
  const AttentionGroups& part = tile.part();
  if (part.sees) {
    const at::Tensor sees = part.sees(tile.Positions());
    if (sees.dim() == 3 && sees.size(1) == 1) {
      seen_keys = sees.squeeze(1).expand_as(keys).contiguous();
    } else {
      seen = sees.expand(all).contiguous();
    }
  }
  if (part.bias)
    bias = (part.bias(tile.Positions()) * kScoreBase).to(at::kFloat).expand(all).contiguous();
  if (has_dropout) dropout = tile.Dropout();
}

GroupWorker::GroupWorker(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v)
    : q_(q),
      k_(k),
      v_(v),
      width_(q.size(3)),
      value_width_(v.size(3)),
      padded_width_(RoundUp(width_, 16)),
      padded_value_width_(RoundUp(value_width_, 16)),
      scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(width_)))),
      zeros_(std::max({kMostLanes, padded_width_, padded_value_width_})),
      keys_(kChunkKeys * padded_width_),
      values_(kChunkKeys * padded_value_width_),
      rows_(kMostLanes * padded_width_),
      columns_(kMostLanes * width_),
      weights_(kChunkKeys * kMostLanes) {}

void GroupWorker::FindKeys(const TileData& data, int64_t group) {
  const int64_t places = data.key_places();
  const int64_t* keys = data.keys.const_data_ptr<int64_t>() + group * places;
  const bool* seen =
      data.seen_keys.defined() ? data.seen_keys.const_data_ptr<bool>() + group * places : nullptr;
  key_index_.clear();
  key_columns_.clear();
  for (int64_t c = 0; c < places; ++c) {
    if (keys[c] < 0 || (seen != nullptr && !seen[c])) continue;
    key_index_.push_back(static_cast<int32_t>(keys[c]));
    key_columns_.push_back(static_cast<int32_t>(c));
  }
}

void GroupWorker::PackChunk(const GroupPlace& at, int64_t first, int64_t count) {
  const int32_t* index = key_index_.data() + first;
  PackRows({count, count, width_, padded_width_}, k_.At(at.example, at.head, 0), k_.stride(), index,
           scale_, keys_.get());
  PackRows({count, count, value_width_, padded_value_width_}, v_.At(at.example, at.head, 0),
           v_.stride(), index, 1.0f, values_.get());
}

bool GroupWorker::GatherQueries(const TileData& data, const GroupPlace& at, const HeadRows& x,
                                int64_t width, int64_t padded, float* out) {
  const int64_t* places =
      data.queries.const_data_ptr<int64_t>() + at.group * data.query_places() + at.first;
  bool is_any = false;
  for (int64_t q = 0; q < at.count; ++q, out += padded) {
    const bool is_there = places[q] >= 0;
    is_any |= is_there;
    if (is_there) std::copy_n(x.At(at.example, at.head, places[q]), width, out);
    std::fill(out + (is_there ? width : 0), out + padded, 0.0f);
  }
  return is_any;
}

void GroupWorker::Score(const TileData& data, const GroupPlace& at, int64_t first, int64_t count) {
  float* tile = weights_.get();
  MultiplyTile({count, width_, at.lanes, keys_.get(), padded_width_, false, columns_.get(),
                at.lanes, zeros_.data(), tile, at.lanes});
  const int64_t first_query = data.first_query + at.first;
  for (int64_t j = 0; j < count; ++j) {
    data.tables.ForSelf(key_columns_[first + j], first_query, at.count, [&](int64_t lane) {
      tile[j * at.lanes + lane] = data.tables.self_score();
    });
  }
  if (data.bias.defined()) {
    const float* bias = data.bias.const_data_ptr<float>();
    ForPairs(data, at, first, count, [&](int64_t j, int64_t lane, int64_t pair) {
      tile[j * at.lanes + lane] += bias[pair];
    });
  }
  for (int64_t j = 0; j < count; ++j)
    data.tables.Hide(key_columns_[first + j], first_query, at.count, tile + j * at.lanes);
  if (data.seen.defined()) {
    const bool* seen = data.seen.const_data_ptr<bool>();
    ForPairs(data, at, first, count, [&](int64_t j, int64_t lane, int64_t pair) {
      if (!seen[pair]) tile[j * at.lanes + lane] = kHiddenScore;
    });
  }
}

void GroupWorker::ApplyDropout(const TileData& data, const GroupPlace& at, int64_t first,
                               int64_t count, float* tile) const {
  const float* mask = data.dropout.const_data_ptr<float>();
  ForPairs(data, at, first, count,
           [&](int64_t j, int64_t lane, int64_t pair) { tile[j * at.lanes + lane] *= mask[pair]; });
}

}  // namespace lra::internal
