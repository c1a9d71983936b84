#include "models/kernels/random_features.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/cummax.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/matmul.h>
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

StableFeatures CausalStableFeatures(const at::Tensor& log_query, const at::Tensor& log_key,
                                    const at::Tensor& keep, const at::Tensor& running_max) {
  const int64_t n = log_key.size(2);
  const int64_t chunks = (n + kCausalChunkTokens - 1) / kCausalChunkTokens;
  const at::Tensor kept = MaskedLog(log_key, keep);
  const at::Tensor padded =
      at::constant_pad_nd(kept.detach(), {0, 0, 0, chunks * kCausalChunkTokens - n}, kMasked);
  const at::Tensor before = running_max.defined()
                                ? running_max.unsqueeze(2)
                                : at::full_like(kept.detach().narrow(2, 0, 1), kMasked);
  at::Tensor largest = padded.view({kept.size(0), kept.size(1), chunks, kCausalChunkTokens, -1})
                           .amax(3);  // [B, H, chunks, M]
  largest = std::get<0>(at::cummax(at::cat({before, largest}, 2), 2));
  const at::Tensor earlier = largest.narrow(2, 0, chunks), now = largest.narrow(2, 1, chunks);
  // Without keys so far there is nothing to scale and nothing to subtract.
  const auto or_zero = [](const at::Tensor& t) { return t.masked_fill(t <= kMasked / 2, 0); };
  const at::Tensor shift = or_zero(now).repeat_interleave(kCausalChunkTokens, 2).narrow(2, 0, n);
  const at::Tensor shifted = log_query + shift;
  const at::Tensor query_shift = shifted.detach().amax(-1, true);
  return {(shifted - query_shift).exp(), (kept - shift).exp(), (earlier - now).exp(),
          largest.select(2, chunks)};
}

}  // namespace lra
