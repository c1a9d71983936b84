#include "models/attention/reformer_chunks.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <tuple>

namespace lra {
namespace {

// There are at most 2^20 buckets (reformer.proto), so numbers stay below 2^61.
constexpr int64_t kChunksOfBucket = int64_t{1} << 40;

}  // namespace

at::Tensor ChunkNumbers(const at::Tensor& buckets, const at::Tensor& ranks, int64_t chunk_tokens) {
  return buckets * kChunksOfBucket + ranks.floor_divide(chunk_tokens);
}

at::Tensor BucketsOfChunks(const at::Tensor& numbers) {
  return numbers.floor_divide(kChunksOfBucket);
}

// The search gives, for each token, where its bucket begins among the sorted tokens.
BucketChunks::BucketChunks(const at::Tensor& bucket, const at::Tensor& order, int64_t buckets,
                           int64_t chunk_tokens)
    : buckets_(buckets),
      chunk_tokens_(chunk_tokens),
      order_(order),
      sorted_(bucket.gather(2, order)),
      rank_(at::arange(order.size(2), order.options()) - at::searchsorted(sorted_, sorted_)) {}

// The number of groups is a bound that the host knows, so that nobody waits for a device to count
// the chunks: the last chunk of each bucket lacks C - 1 tokens at most.
AttentionGroups BucketChunks::Groups() const {
  const int64_t n = order_.size(2), c = std::min(chunk_tokens_, n), before = n > c ? c : 0;
  const int64_t chunks = std::min(n, (n + std::min(buckets_, n) * (c - 1)) / c);
  const at::Tensor begins = rank_.remainder(c).eq(0).logical_and(sorted_.lt(buckets_));
  const at::Tensor all = at::arange(n, order_.options());
  // Where chunks begin among the sorted tokens, [B, H, chunks]; groups without a chunk behind all.
  const at::Tensor start =
      std::get<0>(at::where(begins, all, n + c).sort()).narrow(2, 0, chunks).unsqueeze(3);
  const at::Tensor places = start + at::arange(-before, c, order_.options());
  const at::Tensor near = places.clamp_min(0).clamp_max(n - 1).flatten(2);
  const at::Tensor bucket = sorted_.gather(2, start.squeeze(3).clamp_max(n - 1)).unsqueeze(3);
  const at::Tensor is_own = sorted_.gather(2, near).view_as(places).eq(bucket);
  const at::Tensor is_there = places.ge(0).logical_and(places.lt(n)).logical_and(is_own);
  AttentionGroups groups;
  groups.keys.starts =
      order_.gather(2, near).view_as(places).masked_fill(is_there.logical_not(), -1);
  groups.queries.starts = groups.keys.starts.narrow(3, before, c);
  const auto options = order_.options().dtype(at::kBool);
  groups.pairs = at::ones({c, before + c}, options).tril(before);
  groups.self_pairs = at::constant_pad_nd(at::eye(c, options), {before, 0});
  return groups;
}

at::Tensor BucketChunks::OfTokens() const {
  return at::empty_like(order_).scatter_(2, order_, ChunkNumbers(sorted_, rank_, chunk_tokens_));
}

}  // namespace lra
