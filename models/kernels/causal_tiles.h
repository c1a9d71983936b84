// Tiles of the causal form of linear attention: which there are, a thread's memory for one of them,
// its matrices, and what forward and backward both do with it. The recurrence and a picture stand
// in causal_linear_attention_tiled.cc. Private to this folder.
#ifndef LRA_MODELS_KERNELS_CAUSAL_TILES_H_
#define LRA_MODELS_KERNELS_CAUSAL_TILES_H_

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "models/kernels/floats.h"
#include "models/kernels/gemm.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/linear_attention.h"
#include "models/kernels/linear_attention_shapes.h"
#include "models/kernels/linear_attention_tiles.h"

namespace lra {

// C. Wide enough for products at full speed, and still few weights beside the D x W of a state.
inline constexpr int64_t kCausalTileTokens = 64;

// A row-major matrix whose rows start `stride` floats apart, or the transpose of one.
struct TileMatrix {
  float* data;
  int64_t rows, columns, stride;
  bool is_transposed = false;

  TileMatrix Transposed() const { return {data, columns, rows, stride, !is_transposed}; }
  MatrixView view() const { return {data, stride, is_transposed}; }
};

// out = a b, and out += a b.
inline void SetProduct(const TileMatrix& a, const TileMatrix& b, const TileMatrix& out) {
  Gemm(a.rows, b.columns, a.columns, a.view(), b.view(), 0.0f, out.data, out.stride);
}
inline void AddProduct(const TileMatrix& a, const TileMatrix& b, const TileMatrix& out) {
  Gemm(a.rows, b.columns, a.columns, a.view(), b.view(), 1.0f, out.data, out.stride);
}

// What a thread needs for the tiles of one (example, head) after the other.
struct CausalScratch {
  explicit CausalScratch(const TileShape& shape);
  const Floats queries, keys, values, sums;           // [C, D], [C, D], [C, W], [C, W]
  const Floats weights, weight_gradients;             // [C, C]
  const Floats feature_gradients;                     // [C, D]
  const Floats query_norms, key_norms, floors;        // [C]
  const Floats logs, decay_from_start, decay_to_end;  // [C], of a decay
  const Floats decayed;                               // rows times one of these
  const Floats state;                                 // [D, W]
};

// One of the B H sequences.
struct HeadPlace {
  int64_t example, head;
  int64_t index;  // example * H + head
};

// q, k, v [B, H, N, *], and what the spec says of their tokens.
class CausalInputs {
 public:
  CausalInputs(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
               const at::Tensor& keep, const LinearAttentionSpec& spec);

  const TileShape& shape() const { return shape_; }
  int64_t tokens() const { return tokens_; }
  bool decays() const { return log_decay_.defined(); }

 private:
  friend class CausalTile;

  // log g of the head from token `first` on.
  const float* LogDecays(const HeadPlace& head, int64_t first) const;

  const TileShape shape_;
  const int64_t tokens_;
  const HeadRows queries_, keys_, values_;
  const AngleTable query_angles_, key_angles_;
  const KeepTable keep_;
  at::Tensor log_decay_;  // [B or 1, H, N]; undefined = none
  bool decays_by_example_ = false;
};

// n = C tokens of a head, fewer in the last tile, with their matrices in a thread's memory.
class CausalTile {
 public:
  CausalTile(const CausalInputs& inputs, const CausalScratch& scratch, const HeadPlace& head,
             int64_t number)
      : inputs_(inputs),
        scratch_(scratch),
        head_(head),
        first_(number * kCausalTileTokens),
        rows_(std::min(kCausalTileTokens, inputs.tokens() - first_)) {}

  int64_t rows() const { return rows_; }
  bool has_before() const { return first_ > 0; }
  bool has_after() const { return first_ + rows_ < inputs_.tokens(); }

  // The tile's rows of a [B, H, N, *] tensor, and the place of its first token in a [B, H, N] one.
  RowsView RowsOf(const HeadRows& tensor) const {
    return tensor.Rows(head_.example, head_.head, first_);
  }
  int64_t TokenPlace() const { return head_.index * inputs_.tokens() + first_; }
  Angles QueryAngles() const { return inputs_.query_angles_.At(head_.example, first_); }
  Angles KeyAngles() const { return inputs_.key_angles_.At(head_.example, first_); }

  TileMatrix queries() const { return Narrow(scratch_.queries); }  // F
  TileMatrix keys() const { return Narrow(scratch_.keys); }        // G
  TileMatrix values() const { return Wide(scratch_.values); }      // V
  TileMatrix sums() const { return Wide(scratch_.sums); }          // of the forward
  TileMatrix sum_gradients() const { return sums(); }              // U, of the backward
  TileMatrix weights() const { return Square(scratch_.weights); }  // A
  TileMatrix weight_gradients() const { return Square(scratch_.weight_gradients); }
  TileMatrix feature_gradients() const { return Narrow(scratch_.feature_gradients); }
  TileMatrix state() const {  // S or R
    const TileShape& shape = inputs_.shape_;
    return {scratch_.state.get(), shape.width, shape.state_width, shape.state_width};
  }
  const float* query_norms() const { return scratch_.query_norms.get(); }
  const float* key_norms() const { return scratch_.key_norms.get(); }
  // Memory that nobody fills: no denominator that comes here reads it.
  const float* floors() const { return scratch_.floors.get(); }

  // F, G and V, and what the tile's decays multiply by.
  void Load() const;
  // A, from F and G.
  void MakeWeights() const;
  // Zeros above the diagonal of a square; with a decay the rest times exp(b_i - b_j).
  void KeepTriangle(const TileMatrix& square) const;

  // Rows [n, *] times exp(b), of what enters a token from before the tile, and times exp(b_last -
  // b), of what leaves it to behind the tile. Without a decay the rows themselves; else they lie in
  // the same memory, until the next call.
  TileMatrix DecayedFromStart(const TileMatrix& matrix) const {
    return Decayed(matrix, scratch_.decay_from_start);
  }
  TileMatrix DecayedToEnd(const TileMatrix& matrix) const {
    return Decayed(matrix, scratch_.decay_to_end);
  }

  void ClearState() const;
  void AddKeys() const;     // S of this tile -> S of the next
  void AddQueries() const;  // R of this tile -> R of the one before

 private:
  TileMatrix Narrow(const Floats& floats) const { return Rows(floats, inputs_.shape_.width); }
  TileMatrix Wide(const Floats& floats) const { return Rows(floats, inputs_.shape_.state_width); }
  TileMatrix Rows(const Floats& floats, int64_t width) const {
    return {floats.get(), rows_, width, width};
  }
  TileMatrix Square(const Floats& floats) const {
    return {floats.get(), rows_, rows_, kCausalTileTokens};
  }
  TileMatrix Decayed(const TileMatrix& matrix, const Floats& factors) const;
  // The state times the decay over the whole tile.
  void DecayState() const;

  const CausalInputs& inputs_;
  const CausalScratch& scratch_;
  const HeadPlace head_;
  const int64_t first_, rows_;
};

enum class TileOrder { kFirstToLast, kLastToFirst };

// body(tile) for the tiles of a head; the state is zero at the first one.
template <class Body>
void ForCausalTiles(const CausalInputs& inputs, const CausalScratch& scratch, const HeadPlace& head,
                    TileOrder order, Body body) {
  const int64_t count = (inputs.tokens() + kCausalTileTokens - 1) / kCausalTileTokens;
  for (int64_t step = 0; step < count; ++step) {
    const int64_t number = order == TileOrder::kLastToFirst ? count - 1 - step : step;
    const CausalTile tile(inputs, scratch, head, number);
    if (step == 0) tile.ClearState();
    body(tile);
  }
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_CAUSAL_TILES_H_
