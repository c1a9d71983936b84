// The causal form in float32 on the CPU: each (example, head) goes through tiles of C =
// kCausalTileTokens tokens that stay in the cache. For B examples, H heads, N tokens, D features a
// token, W columns of the values with a one for the denominator, and a tile's n tokens (C, or fewer
// at the end):
//
//   F, G [n, D]  phi(q), phi(k)           b [n]     sum of log g from the tile's start to a token
//   V [n, W]     [v, 1]                   S [D, W]  sum_j phi(k_j) [v_j, 1] over earlier tiles
//   A [n, n]     tril(F G^T): weights     U [n, W]  the gradient of the sums
//
//   keys j ->
//   +---+---+---+   Weights [N, N] are never whole: a tile computes its triangle A, and what lies
//   | A |   |   |   left of it enters through S. From the first tile to the last:
//   +---+---+---+
//   | S | A |   |     sums <- A V + exp(b) F S
//   +---+---+---+     S    <- exp(b_last) S + (exp(b_last - b) G)^T V
//   |   S   | A |
//   +---+---+---+   A row is multiplied by its number in a vector such as exp(b).
//
// Without a decay b is 0. With one, tril() also multiplies by exp(b_i - b_j). None of these factors
// is above 1.
//
// The backward makes the states again instead of keeping them. A pass from the first tile to the
// last has S and gives the gradients of queries. One from the last to the first has R [D, W], which
// sums F^T U over later tiles, what lies below a triangle, and gives those of keys and values:
//
//   dF = tril(U V^T) G + exp(b) U S^T
//   dG = tril(U V^T)^T F + exp(b_last - b) V R^T
//   dV = A^T U + exp(b_last - b) G R
//   R <- exp(b_last) R + F^T (exp(b) U)
//
// Products are float32 in every precision: sums under decays, and what two directions share, would
// not bear rounded factors.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include "models/kernels/causal_linear_attention.h"
#include "models/kernels/causal_tiles.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/linear_attention_tiles.h"
#include "models/kernels/vector_math.h"

namespace lra {
namespace {

using internal::CausalGradients;
using internal::CausalState;

constexpr KernelNeeds kCausalNeeds;

// The sums of the tile's queries over the keys up to their own.
void SumTile(const CausalTile& tile) {
  tile.MakeWeights();
  SetProduct(tile.weights(), tile.values(), tile.sums());
  if (tile.has_before())
    AddProduct(tile.DecayedFromStart(tile.queries()), tile.state(), tile.sums());
}

// out[r] += sign a_r . b_r; nothing where nobody asks.
void AddDots(const TileMatrix& a, const TileMatrix& b, float sign, float* out) {
  if (out == nullptr) return;
  const int64_t width = a.columns;
  for (int64_t r = 0; r < a.rows; ++r)
    out[r] += sign * DotLanes(a.data + r * width, b.data + r * width, width);
}

// The two passes of the backward over one (example, head).
class CausalBackward {
 public:
  CausalBackward(const CausalInputs& inputs, const at::Tensor& gradient, const CausalState& state,
                 const CausalGradients& result)
      : inputs_(inputs),
        upstream_(gradient),
        output_(state.output),
        query_gradient_(result.q),
        key_gradient_(result.k),
        value_gradient_(result.v),
        row_sums_(state.row_sum.const_data_ptr<float>()) {
    if (inputs.decays()) log_gradients_ = at::zeros_like(state.row_sum);
  }

  // The gradients of b over all tokens, [B, H, N]; undefined without a decay.
  const at::Tensor& log_gradients() const { return log_gradients_; }

  void QueryPass(const CausalScratch& scratch, const HeadPlace& head) const {
    ForCausalTiles(inputs_, scratch, head, TileOrder::kFirstToLast, [&](const CausalTile& tile) {
      Load(tile);
      WriteQueryGradients(tile);
      if (tile.has_after()) tile.AddKeys();
    });
  }

  void KeyPass(const CausalScratch& scratch, const HeadPlace& head) const {
    ForCausalTiles(inputs_, scratch, head, TileOrder::kLastToFirst, [&](const CausalTile& tile) {
      Load(tile);
      WriteKeyGradients(tile);
      WriteValueGradients(tile);
      if (tile.has_before()) tile.AddQueries();
    });
  }

 private:
  // The tile's F, G and V, its U, and tril(U V^T), the gradient of the weights.
  void Load(const CausalTile& tile) const {
    tile.Load();
    ProductGradientTile(inputs_.shape(), tile.RowsOf(upstream_), tile.RowsOf(output_),
                        row_sums_ + tile.TokenPlace(), tile.floors(), tile.QueryAngles(),
                        tile.rows(), tile.sum_gradients().data);
    SetProduct(tile.sum_gradients(), tile.values().Transposed(), tile.weight_gradients());
    tile.KeepTriangle(tile.weight_gradients());
  }

  void WriteQueryGradients(const CausalTile& tile) const {
    const TileMatrix queries = tile.queries(), gradients = tile.feature_gradients();
    SetProduct(tile.weight_gradients(), tile.keys(), gradients);
    if (tile.has_before()) {
      AddProduct(tile.DecayedFromStart(tile.sum_gradients()), tile.state().Transposed(), gradients);
    }
    AddDots(queries, gradients, 1.0f, LogGradients(tile));
    SlopeTile(inputs_.shape(), queries.data, tile.query_norms(), gradients.data, tile.rows(),
              tile.RowsOf(query_gradient_));
  }

  void WriteKeyGradients(const CausalTile& tile) const {
    const TileMatrix keys = tile.keys(), gradients = tile.feature_gradients();
    SetProduct(tile.weight_gradients().Transposed(), tile.queries(), gradients);
    if (tile.has_after())
      AddProduct(tile.DecayedToEnd(tile.values()), tile.state().Transposed(), gradients);
    AddDots(keys, gradients, -1.0f, LogGradients(tile));
    SlopeTile(inputs_.shape(), keys.data, tile.key_norms(), gradients.data, tile.rows(),
              tile.RowsOf(key_gradient_));
  }

  // Comes last: the values are read no more, so their gradients take their place.
  void WriteValueGradients(const CausalTile& tile) const {
    const TileMatrix gradients = tile.values();
    tile.MakeWeights();
    SetProduct(tile.weights().Transposed(), tile.sum_gradients(), gradients);
    if (tile.has_after()) AddProduct(tile.DecayedToEnd(tile.keys()), tile.state(), gradients);
    ValueGradientTile(inputs_.shape(), gradients.data, tile.KeyAngles(), tile.rows(),
                      tile.RowsOf(value_gradient_));
  }

  float* LogGradients(const CausalTile& tile) const {
    if (!log_gradients_.defined()) return nullptr;
    return log_gradients_.mutable_data_ptr<float>() + tile.TokenPlace();
  }

  const CausalInputs& inputs_;
  const HeadRows upstream_, output_, query_gradient_, key_gradient_, value_gradient_;
  const float* row_sums_;
  at::Tensor log_gradients_;
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
  const CausalInputs inputs(q, k, v, keep, spec);
  const TileShape& shape = inputs.shape();
  CausalState state;
  state.output = EmptyHeads(q, shape.value_width);
  state.row_sum = at::empty({q.size(0), q.size(1), q.size(2)}, q.options());
  const HeadRows output(state.output);
  float* const row_sums = state.row_sum.mutable_data_ptr<float>();
  const auto run_tile = [&](const CausalTile& tile) {
    tile.Load();
    SumTile(tile);
    OutputTile(shape, tile.sums().data, tile.floors(), tile.QueryAngles(), tile.rows(),
               tile.RowsOf(output), row_sums + tile.TokenPlace());
    if (tile.has_after()) tile.AddKeys();
  };
  ForHeads(
      q, [&] { return CausalScratch(shape); },
      [&](const CausalScratch& scratch, int64_t example, int64_t head, int64_t index) {
        ForCausalTiles(inputs, scratch, {example, head, index}, TileOrder::kFirstToLast, run_tile);
      });
  return state;
}

CausalGradients CausalBackwardTiled(const at::Tensor& gradient, const at::Tensor& q,
                                    const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& keep, const LinearAttentionSpec& spec,
                                    const CausalState& state) {
  CausalGradients result = {
      EmptyHeads(q, q.size(3)), EmptyHeads(k, k.size(3)), EmptyHeads(v, v.size(3)), {}};
  const CausalInputs inputs(q, k, v, keep, spec);
  const CausalBackward backward(inputs, gradient, state, result);
  ForHeads(
      q, [&] { return CausalScratch(inputs.shape()); },
      [&](const CausalScratch& scratch, int64_t example, int64_t head, int64_t index) {
        backward.QueryPass(scratch, {example, head, index});
        backward.KeyPass(scratch, {example, head, index});
      });
  if (inputs.decays())
    result.log_decay = LogDecayGradient(backward.log_gradients(), spec.log_decay.sizes());
  return result;
}

}  // namespace internal
}  // namespace lra
