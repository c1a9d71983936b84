#include "models/kernels/random_features.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cummax.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lra/check.h"
#include "models/kernels/linear_attention.h"

namespace lra {
namespace {

constexpr double kMasked = -1e30;

using Row = std::vector<double>;

double Dot(const Row& a, const Row& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Gram-Schmidt of a row against the unit rows before it, done twice, which is enough for full
// precision.
Row UnitResidual(Row row, const std::vector<Row>& basis) {
  for (int pass = 0; pass < 2; ++pass) {
    for (const Row& unit : basis) {
      const double part = Dot(row, unit);
      for (size_t i = 0; i < row.size(); ++i) row[i] -= part * unit[i];
    }
  }
  const double length = std::sqrt(Dot(row, row));
  for (double& value : row) value /= length;
  return row;
}

}  // namespace

void OrthogonaliseRows(const at::Tensor& matrix) {
  LRA_CHECK(matrix.dim() == 2 && matrix.scalar_type() == at::kFloat && matrix.is_contiguous());
  if (matrix.is_meta()) return;  // a shape without values (models/base/shapes_only.h)
  const int64_t width = matrix.size(1);
  float* values = matrix.mutable_data_ptr<float>();
  std::vector<Row> basis;
  for (int64_t r = 0; r < matrix.size(0); ++r) {
    if (r % width == 0) basis.clear();
    float* to = values + r * width;
    const Row row(to, to + width);
    const double length = std::sqrt(Dot(row, row));
    basis.push_back(UnitResidual(row, basis));
    for (int64_t i = 0; i < width; ++i) to[i] = static_cast<float>(length * basis.back()[i]);
  }
}

at::Tensor LogPositiveFeatures(const at::Tensor& x, const at::Tensor& projection,
                               bool is_hyperbolic) {
  const at::Tensor products = at::matmul(x, projection.to(x.options()).t());  // [.., M]
  const at::Tensor half_square = x.square().sum(-1, true) / 2;
  if (!is_hyperbolic) return products - half_square;
  return at::cat({products - half_square, -products - half_square}, -1);
}

namespace {

// Masks keys so that the exponential is 0, whatever is subtracted.
at::Tensor MaskedLog(const at::Tensor& log_key, const at::Tensor& keep) {
  if (!keep.defined()) return log_key;
  return log_key.masked_fill(keep.logical_not().view({keep.size(0), 1, -1, 1}), kMasked);
}

}  // namespace

StableFeatures MakeStableFeatures(const at::Tensor& log_query, const at::Tensor& log_key,
                                  const at::Tensor& keep) {
  const at::Tensor kept = MaskedLog(log_key, keep);
  // These are constants that cancel, so no gradient flows through them.
  at::Tensor key_shift = kept.detach().amax(2, true);              // [B, H, 1, M]
  key_shift = key_shift.masked_fill(key_shift <= kMasked / 2, 0);  // no keys at all
  const at::Tensor shifted = log_query + key_shift;                // [B, H, N, M]
  const at::Tensor query_shift = shifted.detach().amax(-1, true);  // [B, H, N, 1]
  return {(shifted - query_shift).exp(), (kept - key_shift).exp(), {}, {}};
}

namespace {

// How far the largest logarithm of a key may rise within a chunk. Row sums are then at least e^-60,
// far enough from the smallest float32 that all that counts in them keeps its digits.
constexpr double kMostRise = 60;

// Maxima of logarithms [B, H, T, M] up to each, and up to `before` [B, H, 1, M], which comes first.
at::Tensor RunningMaxima(const at::Tensor& before, const at::Tensor& logs) {
  return std::get<0>(at::cummax(at::cat({before, logs}, 2), 2));
}

// Where chunks of at most kCausalChunkTokens must begin, so that no maximum of logarithms [B, H, N,
// M] rises by more than kMostRise within one.
std::vector<int64_t> StartsBeforeRises(const at::Tensor& logs, at::Tensor before) {
  std::vector<int64_t> starts;
  const int64_t n = logs.size(2);
  for (int64_t first = 0; first < n; first += kCausalChunkTokens) {
    const int64_t size = std::min(kCausalChunkTokens, n - first);
    at::Tensor maxima = RunningMaxima(before, logs.narrow(2, first, size)).narrow(2, 1, size);
    before = maxima.narrow(2, size - 1, 1);
    // A row without keys has nothing to lose: until there is one, the first one's count.
    maxima = at::maximum(maxima, maxima.masked_fill(maxima <= kMasked / 2, -kMasked).amin(2, true));
    for (int64_t start = 0; start < size;) {
      starts.push_back(first + start);
      const at::Tensor rise =
          (maxima.slice(2, start) - maxima.narrow(2, start, 1)).amax({0, 1, 3});  // [size - start]
      const at::Tensor beyond = (rise > kMostRise).nonzero();
      start = beyond.size(0) > 0 ? start + beyond[0][0].item<int64_t>() : size;
    }
  }
  return starts;
}

// How many tokens each chunk has.
std::vector<int64_t> ChunkSizes(const std::vector<int64_t>& starts, int64_t n) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < starts.size(); ++i)
    sizes.push_back((i + 1 < starts.size() ? starts[i + 1] : n) - starts[i]);
  return sizes;
}

// The largest logarithm of each chunk: [B, H, N, M] -> [B, H, chunks, M].
at::Tensor ChunkMaxima(const at::Tensor& logs, const std::vector<int64_t>& sizes) {
  std::vector<at::Tensor> maxima;
  for (const at::Tensor& chunk : logs.split_with_sizes(sizes, 2))
    maxima.push_back(chunk.amax(2, true));
  return at::cat(maxima, 2);
}

// What chunks [B, H, chunks, M] have, at each of their tokens: [B, H, N, M].
at::Tensor AtTokens(const at::Tensor& of_chunks, const std::vector<int64_t>& sizes, int64_t n) {
  if (sizes.empty()) return of_chunks.repeat_interleave(kCausalChunkTokens, 2).narrow(2, 0, n);
  return of_chunks.repeat_interleave(at::tensor(sizes, at::kLong), 2);
}

}  // namespace

StableFeatures CausalStableFeatures(const at::Tensor& log_query, const at::Tensor& log_key,
                                    const at::Tensor& keep, const at::Tensor& running_max) {
  const int64_t n = log_key.size(2);
  int64_t chunks = (n + kCausalChunkTokens - 1) / kCausalChunkTokens;
  const at::Tensor kept = MaskedLog(log_key, keep), logs = kept.detach();
  const at::Tensor chunked =
      at::constant_pad_nd(logs, {0, 0, 0, chunks * kCausalChunkTokens - n}, kMasked)
          .view({kept.size(0), kept.size(1), chunks, kCausalChunkTokens, -1});
  const at::Tensor before = running_max.defined() ? running_max.unsqueeze(2)
                                                  : at::full_like(logs.narrow(2, 0, 1), kMasked);
  at::Tensor largest = RunningMaxima(before, chunked.amax(3));  // [B, H, chunks + 1, M]
  const auto rises = [&] {  // from what a chunk's first row sees
    const at::Tensor first = at::maximum(largest.narrow(2, 0, chunks), chunked.select(3, 0));
    return (largest.narrow(2, 1, chunks) - first).max().item<double>() > kMostRise;
  };
  StableFeatures result;
  std::vector<int64_t> sizes;
  if (logs.is_cpu() && rises()) {
    result.chunk_starts = StartsBeforeRises(logs, before);
    sizes = ChunkSizes(result.chunk_starts, n);
    largest = RunningMaxima(before, ChunkMaxima(logs, sizes));
    chunks = static_cast<int64_t>(sizes.size());
  }
  const at::Tensor earlier = largest.narrow(2, 0, chunks), now = largest.narrow(2, 1, chunks);
  // Without keys so far there is nothing to scale and nothing to subtract.
  const auto or_zero = [](const at::Tensor& t) { return t.masked_fill(t <= kMasked / 2, 0); };
  const at::Tensor shift = AtTokens(or_zero(now), sizes, n), shifted = log_query + shift;
  const at::Tensor query_shift = shifted.detach().amax(-1, true);
  result.query = (shifted - query_shift).exp();
  result.key = (kept - shift).exp();
  result.state_scale = (earlier - now).exp();
  result.running_max = largest.select(2, chunks);
  return result;
}

}  // namespace lra
