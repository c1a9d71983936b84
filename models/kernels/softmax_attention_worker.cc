#include "models/kernels/softmax_attention_worker.h"

#include <cmath>

namespace lra::internal {
namespace {

std::vector<float> SlopesToBase2(const at::Tensor& slopes) {
  if (!slopes.defined()) return {};
  const at::Tensor scaled = (slopes.to(at::kFloat) * kLog2E).contiguous();
  const float* first = scaled.const_data_ptr<float>();
  return std::vector<float>(first, first + scaled.numel());
}

}  // namespace

KeptKeys::KeptKeys(const SoftmaxInput& input) : keys_(input.k.size(2)) {
  if (!input.keep.defined()) return;
  const at::Tensor keep = input.keep.contiguous();
  const bool* kept = keep.const_data_ptr<bool>();
  lists_.resize(keep.size(0));
  for (List& list : lists_) {
    for (int64_t j = 0; j < keys_; ++j) {
      list.before.push_back(static_cast<int32_t>(list.index.size()));
      if (*kept++) list.index.push_back(static_cast<int32_t>(j));
    }
    list.before.push_back(static_cast<int32_t>(list.index.size()));
  }
}

Problem::Problem(const SoftmaxInput& input)
    : input(input),
      q(input.q),
      k(input.k),
      v(input.v),
      kept(input),
      dropout(input.weight_dropout, input.q.size(2)),
      bias(input.bias.defined() ? input.bias.contiguous() : at::Tensor()),
      slopes(SlopesToBase2(input.distance_slopes)),
      batch(input.q.size(0)),
      heads(input.q.size(1)),
      queries(input.q.size(2)),
      width(input.q.size(3)),
      value_width(input.v.size(3)),
      padded_width(RoundUp(width, 16)),
      padded_value_width(RoundUp(value_width, 16)),
      chunk_tiles(std::clamp<int64_t>(512 / std::max(padded_width, padded_value_width), 1, 8)),
      scale(static_cast<float>(1 / std::sqrt(static_cast<double>(width)))) {}

int64_t Problem::Splits(int64_t units, int64_t wanted) const {
  constexpr int64_t kMinQueries = 512;
  return std::clamp<int64_t>((wanted + units - 1) / units, 1,
                             std::max<int64_t>(1, queries / kMinQueries));
}

int64_t Problem::SplitEdge(int64_t split, int64_t splits) const {
  const int64_t tiles = (queries + kQueryTile - 1) / kQueryTile;
  return std::min(queries, tiles * split / splits * kQueryTile);
}

QuerySpan::QuerySpan(const Problem& p, int64_t example, int64_t first, int64_t end)
    : first(first), count(std::min(kQueryTile, end - first)) {
  for (int64_t lane = 0; lane < kQueryTile; ++lane) {
    const int64_t query = first + std::min(lane, count - 1);
    visible[lane] = static_cast<int32_t>(
        p.input.causal ? p.kept.Before(example, query + p.input.VisibleOffset())
                       : p.kept.Count(example));
  }
  least = visible[0];
  most = visible[kQueryTile - 1];
}

Worker::Worker(const Problem& p) : p_(p), weights_(kTileFloats), spans_(p.chunk_tiles) {
  if (p.dropout.threshold > 0) bits_.resize(kTileFloats);
}

KeySpan Worker::Tile(const Place& at, int64_t first) const {
  return {first, std::min(kKeyTile, p_.kept.Count(at.example) - first),
          p_.kept.Index(at.example, first)};
}

void Worker::BeginTile(int64_t head, const QuerySpan& queries, const KeySpan& keys, int64_t count,
                       const float* start) {
  for (int64_t j = 0; j < count; ++j)
    std::copy_n(start, kQueryTile, weights_.get() + j * kQueryTile);
  if (p_.bias.defined()) AddBias(head, queries, keys, count);
  if (p_.slopes.empty()) return;
  SubtractDistances(count, keys.first, keys.index, p_.input.FirstPosition() + queries.first,
                    p_.slopes[head], weights_.get());
}

void Worker::AddBias(int64_t head, const QuerySpan& queries, const KeySpan& keys, int64_t count) {
  const int64_t all_keys = p_.bias.size(2);
  const float* bias =
      p_.bias.const_data_ptr<float>() + (head * p_.queries + queries.first) * all_keys;
  for (int64_t lane = 0; lane < queries.count; ++lane, bias += all_keys) {
    for (int64_t j = 0; j < count; ++j)
      weights_.get()[j * kQueryTile + lane] += kLog2E * bias[keys.Original(j)];
  }
}

void Worker::DrawBits(const Place& at, const QuerySpan& queries, const KeySpan& keys,
                      int64_t count) {
  DropoutTile drawn;
  int64_t block = -1;
  for (int64_t j = 0; j < count; ++j) {
    const int64_t key = keys.Original(j);
    if (key / kDropoutTileKeys != block) {
      block = key / kDropoutTileKeys;
      DrawWeightDropoutTile(p_.dropout, at.example, at.head, queries.first, block, drawn);
    }
    std::copy_n(drawn[key % kDropoutTileKeys], kQueryTile, bits_.data() + j * kQueryTile);
  }
}

}  // namespace lra::internal
