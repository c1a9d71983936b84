#include "models/kernels/causal_tiles.h"

#include "models/kernels/simd.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

// Sets what lies above the diagonal of [rows, rows] to zero; with logs b [rows] the rest is
// multiplied by exp(b_r - b_c).
inline LRA_ALWAYS_INLINE void TriangleTileBody(int64_t rows, const float* logs, float* square) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = square + r * kCausalTileTokens;
    std::fill(row + r + 1, row + rows, 0.0f);
    if (logs == nullptr) continue;
    const float log = logs[r];
    for (int64_t c = 0; c <= r; ++c) row[c] *= ExpNonPositive(log - logs[c]);
  }
}
LRA_MULTIVERSION(TriangleTile, (int64_t rows, const float* logs, float* square),
                 (rows, logs, square))

// Decays of a tile: b -> logs, exp(b) -> from_start, exp(b_last - b) -> to_end.
inline LRA_ALWAYS_INLINE void DecayTileBody(const float* log_decay, int64_t rows, float* logs,
                                            float* from_start, float* to_end) {
  double sum = 0;
  for (int64_t r = 0; r < rows; ++r) logs[r] = static_cast<float>(sum += log_decay[r]);
  const float last = logs[rows - 1];
  for (int64_t r = 0; r < rows; ++r) {
    from_start[r] = ExpNonPositive(logs[r]);
    to_end[r] = ExpNonPositive(last - logs[r]);
  }
}
LRA_MULTIVERSION(DecayTile,
                 (const float* log_decay, int64_t rows, float* logs, float* from_start,
                  float* to_end),
                 (log_decay, rows, logs, from_start, to_end))

}  // namespace

CausalScratch::CausalScratch(const TileShape& shape)
    : queries(kCausalTileTokens * shape.width),
      keys(kCausalTileTokens * shape.width),
      values(kCausalTileTokens * shape.state_width),
      sums(kCausalTileTokens * shape.state_width),
      weights(kCausalTileTokens * kCausalTileTokens),
      weight_gradients(kCausalTileTokens * kCausalTileTokens),
      feature_gradients(kCausalTileTokens * shape.width),
      query_norms(kCausalTileTokens),
      key_norms(kCausalTileTokens),
      floors(kCausalTileTokens),
      logs(kCausalTileTokens),
      decay_from_start(kCausalTileTokens),
      decay_to_end(kCausalTileTokens),
      decayed(kCausalTileTokens * std::max(shape.width, shape.state_width)),
      state(shape.width * shape.state_width) {}

CausalInputs::CausalInputs(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& keep, const LinearAttentionSpec& spec)
    : shape_(MakeTileShape(q, v, spec)),
      tokens_(q.size(2)),
      queries_(q),
      keys_(k),
      values_(v),
      query_angles_(spec.query_angles),
      key_angles_(spec.key_angles),
      keep_(keep) {
  if (!spec.log_decay.defined()) return;
  log_decay_ = spec.log_decay.detach().expand({-1, -1, tokens_}).contiguous();
  decays_by_example_ = log_decay_.size(0) > 1;
}

const float* CausalInputs::LogDecays(const HeadPlace& head, int64_t first) const {
  const int64_t row = (decays_by_example_ ? head.example : 0) * log_decay_.size(1) + head.head;
  return log_decay_.const_data_ptr<float>() + row * log_decay_.size(2) + first;
}

void CausalTile::Load() const {
  const TileShape& shape = inputs_.shape_;
  const bool* const keep = inputs_.keep_.At(head_.example, first_);
  FeatureTile(shape, RowsOf(inputs_.queries_), nullptr, rows_, scratch_.queries.get(),
              scratch_.query_norms.get());
  FeatureTile(shape, RowsOf(inputs_.keys_), keep, rows_, scratch_.keys.get(),
              scratch_.key_norms.get());
  ValueTile(shape, RowsOf(inputs_.values_), keep, KeyAngles(), rows_, scratch_.values.get());
  if (!inputs_.decays()) return;
  DecayTile(inputs_.LogDecays(head_, first_), rows_, scratch_.logs.get(),
            scratch_.decay_from_start.get(), scratch_.decay_to_end.get());
}

void CausalTile::MakeWeights() const {
  SetProduct(queries(), keys().Transposed(), weights());
  KeepTriangle(weights());
}

void CausalTile::KeepTriangle(const TileMatrix& square) const {
  TriangleTile(rows_, inputs_.decays() ? scratch_.logs.get() : nullptr, square.data);
}

TileMatrix CausalTile::Decayed(const TileMatrix& matrix, const Floats& factors) const {
  if (!inputs_.decays()) return matrix;
  const int64_t width = matrix.columns;
  for (int64_t r = 0; r < rows_; ++r) {
    const float *from = matrix.data + r * width, factor = factors.get()[r];
    float* to = scratch_.decayed.get() + r * width;
    for (int64_t w = 0; w < width; ++w) to[w] = from[w] * factor;
  }
  return Rows(scratch_.decayed, width);
}

void CausalTile::ClearState() const {
  std::fill_n(scratch_.state.get(), inputs_.shape_.width * inputs_.shape_.state_width, 0.0f);
}

void CausalTile::AddKeys() const {
  DecayState();
  AddProduct(DecayedToEnd(keys()).Transposed(), values(), state());
}

void CausalTile::AddQueries() const {
  DecayState();
  AddProduct(queries().Transposed(), DecayedFromStart(sum_gradients()), state());
}

void CausalTile::DecayState() const {
  if (!inputs_.decays()) return;
  const float over = scratch_.decay_from_start.get()[rows_ - 1];
  const int64_t size = inputs_.shape_.width * inputs_.shape_.state_width;
  for (int64_t i = 0; i < size; ++i) scratch_.state.get()[i] *= over;
}

}  // namespace lra
