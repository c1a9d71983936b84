// The causal form in float32 on the CPU. Each (example, head) goes through tiles of
// kCausalTileTokens that stay in the cache: within a tile A = phi(q) phi(k)^T has a triangular
// mask, earlier tiles enter through the state S = sum_j phi(k_j) [v_j, 1] (see
// causal_linear_attention.h). The backward makes the states again instead of keeping them: a pass
// from the first tile to the last sums S, for the gradients of queries, and one from the last to
// the first sums the gradient R of S, for those of keys and values. With a decay, b_i is the sum of
// log g from the tile's start to token i: weights carry exp(b_i - b_j), what enters exp(b_i), what
// leaves exp(b_last - b_j); none of these is above 1. Products are float32 in every precision:
// sums under decays, and what two directions share, would not bear rounded factors.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "models/kernels/causal_linear_attention.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/floats.h"
#include "models/kernels/gemm.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/linear_attention_shapes.h"
#include "models/kernels/linear_attention_tiles.h"
#include "models/kernels/simd.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

using internal::CausalGradients;
using internal::CausalState;

// Wide enough for products at full speed, and still few weights beside the D x W of a state.
constexpr int64_t kCausalTileTokens = 64;

constexpr KernelNeeds kCausalNeeds;

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

// Decays of a tile: b -> logs, exp(b) -> to_token, exp(b_last - b) -> from_token.
inline LRA_ALWAYS_INLINE void DecayTileBody(const float* log_decay, int64_t rows, float* logs,
                                            float* to_token, float* from_token) {
  double sum = 0;
  for (int64_t r = 0; r < rows; ++r) logs[r] = static_cast<float>(sum += log_decay[r]);
  const float last = logs[rows - 1];
  for (int64_t r = 0; r < rows; ++r) {
    to_token[r] = ExpNonPositive(logs[r]);
    from_token[r] = ExpNonPositive(last - logs[r]);
  }
}
LRA_MULTIVERSION(DecayTile,
                 (const float* log_decay, int64_t rows, float* logs, float* to_token,
                  float* from_token),
                 (log_decay, rows, logs, to_token, from_token))

// What a thread needs for the tiles of one (example, head) after the other.
struct CausalScratch {
  explicit CausalScratch(const TileShape& shape)
      : queries(kCausalTileTokens * shape.width),
        keys(kCausalTileTokens * shape.width),
        values(kCausalTileTokens * shape.state_width),
        sums(kCausalTileTokens * shape.state_width),
        weights(kCausalTileTokens * kCausalTileTokens),
        products(kCausalTileTokens * kCausalTileTokens),
        feature_gradient(kCausalTileTokens * shape.width),
        query_norms(kCausalTileTokens),
        key_norms(kCausalTileTokens),
        floors(kCausalTileTokens),
        logs(kCausalTileTokens),
        to_token(kCausalTileTokens),
        from_token(kCausalTileTokens),
        scaled(kCausalTileTokens * std::max(shape.width, shape.state_width)),
        state(shape.width * shape.state_width) {}
  // phi(q) and phi(k) [C, D]; [v, 1] and the sums or their gradients [C, W]; two squares [C, C].
  const Floats queries, keys, values, sums, weights, products, feature_gradient;
  const Floats query_norms, key_norms, floors;  // floors: read by no denominator that comes here
  const Floats logs, to_token, from_token;      // [C], of a decay
  const Floats scaled;                          // rows times one of these
  const Floats state;                           // [D, W]: S, or R
};

struct CausalTile {
  int64_t example, head, index, first, rows;
  bool has_before, has_after;
};

// body(tile) for the tiles of a head, or from the last one on.
template <class Body>
void ForCausalTiles(int64_t tokens, int64_t example, int64_t head, int64_t index, bool is_backwards,
                    Body body) {
  const int64_t count = (tokens + kCausalTileTokens - 1) / kCausalTileTokens;
  for (int64_t t = 0; t < count; ++t) {
    const int64_t at = is_backwards ? count - 1 - t : t, first = at * kCausalTileTokens;
    body(CausalTile{example, head, index, first, std::min(kCausalTileTokens, tokens - first),
                    at > 0, at + 1 < count});
  }
}

// Tiles of q, k and v, and the products that both directions have.
class CausalTileLoader {
 public:
  CausalTileLoader(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                   const at::Tensor& keep, const LinearAttentionSpec& spec)
      : shape_(MakeTileShape(q, v, spec)),
        queries_(q),
        keys_(k),
        values_(v),
        query_angles_(spec.query_angles),
        key_angles_(spec.key_angles),
        keep_(keep) {
    if (!spec.log_decay.defined()) return;
    log_decay_ = spec.log_decay.detach().expand({-1, -1, q.size(2)}).contiguous();
    decays_by_example_ = log_decay_.size(0) > 1;
  }

  const TileShape& shape() const { return shape_; }
  bool decays() const { return log_decay_.defined(); }
  Angles QueryAngles(const CausalTile& c) const { return query_angles_.At(c.example, c.first); }
  Angles KeyAngles(const CausalTile& c) const { return key_angles_.At(c.example, c.first); }

  void Load(const CausalTile& c, const CausalScratch& s) const {
    const bool* kept = keep_.At(c.example, c.first);
    FeatureTile(shape_, queries_.Rows(c.example, c.head, c.first), nullptr, c.rows, s.queries.get(),
                s.query_norms.get());
    FeatureTile(shape_, keys_.Rows(c.example, c.head, c.first), kept, c.rows, s.keys.get(),
                s.key_norms.get());
    ValueTile(shape_, values_.Rows(c.example, c.head, c.first), kept, KeyAngles(c), c.rows,
              s.values.get());
    if (!decays()) return;
    const int64_t row = (decays_by_example_ ? c.example : 0) * log_decay_.size(1) + c.head;
    DecayTile(log_decay_.const_data_ptr<float>() + row * log_decay_.size(2) + c.first, c.rows,
              s.logs.get(), s.to_token.get(), s.from_token.get());
  }

  // On and below the diagonal, with decays.
  void Triangle(const CausalTile& c, const CausalScratch& s, const Floats& square) const {
    TriangleTile(c.rows, decays() ? s.logs.get() : nullptr, square.get());
  }

  // Rows [C, width] times factors [C] of a decay -> s.scaled; without a decay the rows themselves.
  const float* Scaled(const CausalTile& c, const CausalScratch& s, const Floats& rows,
                      int64_t width, const Floats& factors) const {
    if (!decays()) return rows.get();
    for (int64_t r = 0; r < c.rows; ++r) {
      const float *from = rows.get() + r * width, factor = factors.get()[r];
      float* to = s.scaled.get() + r * width;
      for (int64_t w = 0; w < width; ++w) to[w] = from[w] * factor;
    }
    return s.scaled.get();
  }

  // phi(q) phi(k)^T on and below the diagonal -> s.weights.
  void Weights(const CausalTile& c, const CausalScratch& s) const {
    Gemm(c.rows, c.rows, shape_.width, {s.queries.get(), shape_.width},
         {s.keys.get(), shape_.width, true}, 0.0f, s.weights.get(), kCausalTileTokens);
    Triangle(c, s, s.weights);
  }

  // S of what leaves the tile: keys and values.
  void AddKeys(const CausalTile& c, const CausalScratch& s) const {
    Decay(c, s);
    Add(c, s, Scaled(c, s, s.keys, shape_.width, s.from_token), s.values.get());
  }

  // R of what entered the tile: queries and the gradients of their sums.
  void AddQueries(const CausalTile& c, const CausalScratch& s) const {
    Decay(c, s);
    Add(c, s, s.queries.get(), Scaled(c, s, s.sums, shape_.state_width, s.to_token));
  }

  void ClearState(const CausalScratch& s) const {
    std::fill_n(s.state.get(), shape_.width * shape_.state_width, 0.0f);
  }

 private:
  // The state times the decay over the whole tile.
  void Decay(const CausalTile& c, const CausalScratch& s) const {
    if (!decays()) return;
    const float over = s.to_token.get()[c.rows - 1];
    for (int64_t i = 0; i < shape_.width * shape_.state_width; ++i) s.state.get()[i] *= over;
  }

  // s.state += features^T wide.
  void Add(const CausalTile& c, const CausalScratch& s, const float* features,
           const float* wide) const {
    Gemm(shape_.width, shape_.state_width, c.rows, {features, shape_.width, true},
         {wide, shape_.state_width}, 1.0f, s.state.get(), shape_.state_width);
  }

  const TileShape shape_;
  const HeadRows queries_, keys_, values_;
  const AngleTable query_angles_, key_angles_;
  const KeepTable keep_;
  at::Tensor log_decay_;  // [B or 1, H, N]; undefined = none
  bool decays_by_example_ = false;
};

// out[r] += sign a_r . b_r of rows [C, width]; nothing where nobody asks.
void AddDots(const CausalTile& c, const float* a, const float* b, int64_t width, float sign,
             float* out) {
  if (out == nullptr) return;
  for (int64_t r = 0; r < c.rows; ++r)
    out[r] += sign * DotLanes(a + r * width, b + r * width, width);
}

// The two passes of the backward over one (example, head).
class CausalPasses {
 public:
  CausalPasses(const CausalTileLoader& loader, const at::Tensor& gradient, const CausalState& state,
               const CausalGradients& result)
      : loader_(loader),
        upstream_(gradient),
        output_(state.output),
        query_gradient_(result.q),
        key_gradient_(result.k),
        value_gradient_(result.v),
        row_sums_(state.row_sum.const_data_ptr<float>()),
        tokens_(state.row_sum.size(2)) {
    if (loader.decays()) log_positions_ = at::zeros_like(state.row_sum);
  }

  // The gradients of b over all tokens, [B, H, N]; undefined without a decay.
  const at::Tensor& log_positions() const { return log_positions_; }

  void Queries(const CausalScratch& s, int64_t example, int64_t head, int64_t index) const {
    const TileShape& shape = loader_.shape();
    const int64_t width = shape.width, state_width = shape.state_width;
    loader_.ClearState(s);
    ForCausalTiles(tokens_, example, head, index, false, [&](const CausalTile& c) {
      Load(c, s);
      Gemm(c.rows, width, c.rows, {s.products.get(), kCausalTileTokens}, {s.keys.get(), width},
           0.0f, s.feature_gradient.get(), width);
      if (c.has_before) {
        const float* sums = loader_.Scaled(c, s, s.sums, state_width, s.to_token);
        Gemm(c.rows, width, state_width, {sums, state_width}, {s.state.get(), state_width, true},
             1.0f, s.feature_gradient.get(), width);
      }
      AddDots(c, s.queries.get(), s.feature_gradient.get(), width, 1.0f, LogPositions(c));
      SlopeTile(shape, s.queries.get(), s.query_norms.get(), s.feature_gradient.get(), c.rows,
                query_gradient_.Rows(example, head, c.first));
      if (c.has_after) loader_.AddKeys(c, s);
    });
  }

  void Keys(const CausalScratch& s, int64_t example, int64_t head, int64_t index) const {
    const TileShape& shape = loader_.shape();
    const int64_t width = shape.width, state_width = shape.state_width;
    loader_.ClearState(s);
    ForCausalTiles(tokens_, example, head, index, true, [&](const CausalTile& c) {
      Load(c, s);
      Gemm(c.rows, width, c.rows, {s.products.get(), kCausalTileTokens, true},
           {s.queries.get(), width}, 0.0f, s.feature_gradient.get(), width);
      if (c.has_after) {
        const float* values = loader_.Scaled(c, s, s.values, state_width, s.from_token);
        Gemm(c.rows, width, state_width, {values, state_width}, {s.state.get(), state_width, true},
             1.0f, s.feature_gradient.get(), width);
      }
      AddDots(c, s.keys.get(), s.feature_gradient.get(), width, -1.0f, LogPositions(c));
      SlopeTile(shape, s.keys.get(), s.key_norms.get(), s.feature_gradient.get(), c.rows,
                key_gradient_.Rows(example, head, c.first));
      OfValues(c, s);
      if (c.has_before) loader_.AddQueries(c, s);
    });
  }

 private:
  // The tile, the gradient U of its sums -> s.sums, and U [v, 1]^T on and below the diagonal, the
  // gradient of the weights -> s.products.
  void Load(const CausalTile& c, const CausalScratch& s) const {
    const TileShape& shape = loader_.shape();
    loader_.Load(c, s);
    ProductGradientTile(shape, upstream_.Rows(c.example, c.head, c.first),
                        output_.Rows(c.example, c.head, c.first),
                        row_sums_ + c.index * tokens_ + c.first, s.floors.get(),
                        loader_.QueryAngles(c), c.rows, s.sums.get());
    Gemm(c.rows, c.rows, shape.state_width, {s.sums.get(), shape.state_width},
         {s.values.get(), shape.state_width, true}, 0.0f, s.products.get(), kCausalTileTokens);
    loader_.Triangle(c, s, s.products);
  }

  float* LogPositions(const CausalTile& c) const {
    if (!log_positions_.defined()) return nullptr;
    return log_positions_.mutable_data_ptr<float>() + c.index * tokens_ + c.first;
  }

  // The values are read no more, so their gradient takes their place.
  void OfValues(const CausalTile& c, const CausalScratch& s) const {
    const TileShape& shape = loader_.shape();
    const int64_t state_width = shape.state_width;
    loader_.Weights(c, s);
    Gemm(c.rows, state_width, c.rows, {s.weights.get(), kCausalTileTokens, true},
         {s.sums.get(), state_width}, 0.0f, s.values.get(), state_width);
    if (c.has_after) {
      const float* keys = loader_.Scaled(c, s, s.keys, shape.width, s.from_token);
      Gemm(c.rows, state_width, shape.width, {keys, shape.width}, {s.state.get(), state_width},
           1.0f, s.values.get(), state_width);
    }
    ValueGradientTile(shape, s.values.get(), loader_.KeyAngles(c), c.rows,
                      value_gradient_.Rows(c.example, c.head, c.first));
  }

  const CausalTileLoader& loader_;
  const HeadRows upstream_, output_, query_gradient_, key_gradient_, value_gradient_;
  const float* row_sums_;
  const int64_t tokens_;
  at::Tensor log_positions_;
};

// Whether no product of decays is above 1, as the tiles take for granted.
bool OnlyForgets(const at::Tensor& log_decay) {
  return !log_decay.defined() || (log_decay.scalar_type() == at::kFloat && log_decay.numel() > 0 &&
                                  log_decay.max().item<float>() <= 0);
}

}  // namespace

namespace internal {

bool TakesCausalTiles(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const LinearAttentionSpec& spec) {
  return DispatchKernel(kCausalNeeds, {q, k, v}) != KernelPath::kGeneric &&
         spec.denominator != Denominator::kSignedFloor && !spec.state_scale.defined() &&
         spec.chunk_starts.empty() && OnlyForgets(spec.log_decay);
}

CausalState CausalForwardTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const at::Tensor& keep, const LinearAttentionSpec& spec) {
  CausalState state;
  const CausalTileLoader loader(q, k, v, keep, spec);
  const TileShape& shape = loader.shape();
  const int64_t state_width = shape.state_width, n = q.size(2);
  state.output = EmptyHeads(q, shape.value_width);
  state.row_sum = at::empty({q.size(0), q.size(1), n}, q.options());
  const HeadRows output(state.output);
  float* row_sums = state.row_sum.mutable_data_ptr<float>();
  const auto run = [&](const CausalScratch& s, int64_t example, int64_t head, int64_t index) {
    loader.ClearState(s);
    ForCausalTiles(n, example, head, index, false, [&](const CausalTile& c) {
      loader.Load(c, s);
      loader.Weights(c, s);
      Gemm(c.rows, state_width, c.rows, {s.weights.get(), kCausalTileTokens},
           {s.values.get(), state_width}, 0.0f, s.sums.get(), state_width);
      if (c.has_before) {
        const float* queries = loader.Scaled(c, s, s.queries, shape.width, s.to_token);
        Gemm(c.rows, state_width, shape.width, {queries, shape.width}, {s.state.get(), state_width},
             1.0f, s.sums.get(), state_width);
      }
      OutputTile(shape, s.sums.get(), s.floors.get(), loader.QueryAngles(c), c.rows,
                 output.Rows(example, head, c.first), row_sums + index * n + c.first);
      if (c.has_after) loader.AddKeys(c, s);
    });
  };
  ForHeads(
      q, [&] { return CausalScratch(shape); }, run);
  return state;
}

CausalGradients CausalBackwardTiled(const at::Tensor& gradient, const at::Tensor& q,
                                    const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& keep, const LinearAttentionSpec& spec,
                                    const CausalState& state) {
  CausalGradients result = {
      EmptyHeads(q, q.size(3)), EmptyHeads(k, k.size(3)), EmptyHeads(v, v.size(3)), {}};
  const CausalTileLoader loader(q, k, v, keep, spec);
  const CausalPasses passes(loader, gradient, state, result);
  ForHeads(
      q, [&] { return CausalScratch(loader.shape()); },
      [&](const CausalScratch& scratch, int64_t example, int64_t head, int64_t index) {
        passes.Queries(scratch, example, head, index);
        passes.Keys(scratch, example, head, index);
      });
  if (loader.decays())
    result.log_decay = LogDecayGradient(passes.log_positions(), spec.log_decay.sizes());
  return result;
}

}  // namespace internal
}  // namespace lra
