// Linear attention for float32 on the CPU. Each (example, head) is computed in tiles of tokens that
// stay in the cache: a pass over the keys sums the state S = sum_j phi(k_j) [v_j, 1], and a pass
// over the queries applies it. The backward mirrors this.
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "models/kernels/floats.h"
#include "models/kernels/gemm.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/linear_attention.h"
#include "models/kernels/linear_attention_shapes.h"
#include "models/kernels/linear_attention_tiles.h"
#include "models/kernels/token_tiles.h"
#include "models/kernels/zero_rows.h"

namespace lra {
namespace {

using internal::LinearAttentionGradients;
using internal::LinearAttentionState;

// The shape of the tiles of an example: where there are floors, its epsilon is the example's floor.
class ExampleShapes {
 public:
  ExampleShapes(const TileShape& shape, const at::Tensor& floors) : shape_(shape) {
    if (floors.defined()) floors_ = floors.to(at::kFloat).contiguous();
  }
  TileShape At(int64_t example) const {
    TileShape shape = shape_;
    if (floors_.defined()) shape.epsilon = floors_.const_data_ptr<float>()[example];
    return shape;
  }

 private:
  const TileShape shape_;
  at::Tensor floors_;
};

// What a thread needs for the tiles of one (example, head) after the other.
struct TileScratch {
  explicit TileScratch(const TileShape& shape)
      : features(kTileTokens * shape.width),
        wide(kTileTokens * shape.state_width),
        inverse_norms(kTileTokens),
        floors(kTileTokens) {}
  const Floats features, wide, inverse_norms, floors;
};

struct BackwardScratch : TileScratch {
  explicit BackwardScratch(const TileShape& shape)
      : TileScratch(shape),
        feature_gradient(kTileTokens * shape.width),
        wide_gradient(kTileTokens * shape.state_width),
        state_gradient(shape.width * shape.state_width) {}
  const Floats feature_gradient, wide_gradient, state_gradient;
};

// Weights of both signs cancel in the row sum that divides them, so their products stay in float32.
ProductType ProductsOf(const LinearAttentionSpec& spec) {
  return spec.denominator == Denominator::kSignedFloor ? ProductType::kFloat32
                                                       : ActiveProductType();
}

// The backward of one (example, head) after the other: a pass over the queries sums the state's
// gradient, to which a tile of queries without a gradient adds nothing, and a pass over the keys
// applies it.
class BackwardPasses {
 public:
  BackwardPasses(const at::Tensor& gradient, const at::Tensor& q, const at::Tensor& k,
                 const at::Tensor& v, const at::Tensor& keep, const LinearAttentionSpec& spec,
                 const LinearAttentionState& state, const LinearAttentionGradients& result)
      : all_(MakeTileShape(q, v, spec)),
        shapes_(all_, spec.floors),
        query_count_(q.size(2)),
        key_count_(k.size(2)),
        // The gradient of [v, 1] has a column that nobody reads; with angles it lies in between.
        gradient_width_(spec.query_angles.defined() ? all_.state_width : all_.value_width),
        queries_(q),
        keys_(k),
        values_(v),
        output_(state.output),
        upstream_(gradient),
        query_gradient_(result.q),
        key_gradient_(result.k),
        value_gradient_(result.v),
        query_angles_(spec.query_angles),
        key_angles_(spec.key_angles),
        keep_(keep),
        row_sums_(state.row_sum.const_data_ptr<float>()),
        key_states_(state.key_state.const_data_ptr<float>()),
        products_(state.products) {}

  BackwardScratch MakeScratch() const { return BackwardScratch(all_); }

  void Queries(const BackwardScratch& scratch, int64_t example, int64_t head, int64_t index) const {
    const TileShape shape = shapes_.At(example);
    const int64_t width = shape.width, state_width = shape.state_width;
    const float* key_state = key_states_ + index * width * state_width;
    std::fill_n(scratch.state_gradient.get(), width * state_width, 0.0f);
    ForTiles(0, query_count_, [&](int64_t first, int64_t rows) {
      const RowsView upstream = upstream_.Rows(example, head, first);
      const RowsView query_gradient = query_gradient_.Rows(example, head, first);
      if (!HasNonZero(upstream.data, rows, shape.value_width, upstream.stride))
        return ClearRows(rows, width, query_gradient.stride, query_gradient.data);
      FeatureTile(shape, queries_.Rows(example, head, first), nullptr, rows, scratch.features.get(),
                  scratch.inverse_norms.get());
      FloorTile(shape, scratch.features.get(), key_state, rows, scratch.floors.get());
      ProductGradientTile(shape, upstream, output_.Rows(example, head, first),
                          row_sums_ + index * query_count_ + first, scratch.floors.get(),
                          query_angles_.At(example, first), rows, scratch.wide.get());
      Gemm(width, state_width, rows, {scratch.features.get(), width, true},
           {scratch.wide.get(), state_width}, 1.0f, scratch.state_gradient.get(), state_width,
           products_);
      // In float32 always: the gradients through numerator and denominator nearly cancel.
      Gemm(rows, width, state_width, {scratch.wide.get(), state_width},
           {key_state, state_width, true}, 0.0f, scratch.feature_gradient.get(), width);
      SlopeTile(shape, scratch.features.get(), scratch.inverse_norms.get(),
                scratch.feature_gradient.get(), rows, query_gradient);
    });
  }

  void Keys(const BackwardScratch& scratch, int64_t example, int64_t head) const {
    const TileShape shape = shapes_.At(example);
    const int64_t width = shape.width, state_width = shape.state_width;
    const float* state_gradient = scratch.state_gradient.get();
    ForTiles(0, key_count_, [&](int64_t first, int64_t rows) {
      const bool* kept = keep_.At(example, first);
      const Angles angles = key_angles_.At(example, first);
      FeatureTile(shape, keys_.Rows(example, head, first), kept, rows, scratch.features.get(),
                  scratch.inverse_norms.get());
      ValueTile(shape, values_.Rows(example, head, first), kept, angles, rows, scratch.wide.get());
      // Masked rows are zero in both factors, and so are their gradients.
      Gemm(rows, width, state_width, {scratch.wide.get(), state_width},
           {state_gradient, state_width, true}, 0.0f, scratch.feature_gradient.get(), width,
           products_);
      SlopeTile(shape, scratch.features.get(), scratch.inverse_norms.get(),
                scratch.feature_gradient.get(), rows, key_gradient_.Rows(example, head, first));
      Gemm(rows, gradient_width_, width, {scratch.features.get(), width},
           {state_gradient, state_width}, 0.0f, scratch.wide_gradient.get(), state_width,
           products_);
      ValueGradientTile(shape, scratch.wide_gradient.get(), angles, rows,
                        value_gradient_.Rows(example, head, first));
    });
  }

 private:
  const TileShape all_;
  const ExampleShapes shapes_;
  const int64_t query_count_, key_count_, gradient_width_;
  const HeadRows queries_, keys_, values_, output_, upstream_;
  const HeadRows query_gradient_, key_gradient_, value_gradient_;
  const AngleTable query_angles_, key_angles_;
  const KeepTable keep_;
  const float *row_sums_, *key_states_;
  const ProductType products_;
};

}  // namespace

namespace internal {

LinearAttentionState ForwardTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const at::Tensor& keep, const LinearAttentionSpec& spec) {
  const TileShape all = MakeTileShape(q, v, spec);
  const ExampleShapes shapes(all, spec.floors);
  const int64_t width = all.width, state_width = all.state_width, n = q.size(2);
  LinearAttentionState state;
  state.products = ProductsOf(spec);
  state.output = EmptyHeads(q, all.value_width);
  state.row_sum = at::empty({q.size(0), q.size(1), n}, q.options());
  state.key_state = at::zeros({q.size(0), q.size(1), width, state_width}, q.options());
  const HeadRows queries(q), keys(k), values(v), output(state.output);
  const AngleTable query_angles(spec.query_angles), key_angles(spec.key_angles);
  const KeepTable keep_table(keep);
  float* row_sums = state.row_sum.mutable_data_ptr<float>();
  float* key_states = state.key_state.mutable_data_ptr<float>();
  const auto run = [&](const TileScratch& scratch, int64_t example, int64_t head, int64_t index) {
    const TileShape shape = shapes.At(example);
    float* key_state = key_states + index * width * state_width;
    ForTiles(0, k.size(2), [&](int64_t first, int64_t rows) {
      const bool* kept = keep_table.At(example, first);
      FeatureTile(shape, keys.Rows(example, head, first), kept, rows, scratch.features.get(),
                  scratch.inverse_norms.get());
      ValueTile(shape, values.Rows(example, head, first), kept, key_angles.At(example, first), rows,
                scratch.wide.get());
      Gemm(width, state_width, rows, {scratch.features.get(), width, true},
           {scratch.wide.get(), state_width}, 1.0f, key_state, state_width, state.products);
    });
    ForTiles(0, n, [&](int64_t first, int64_t rows) {
      FeatureTile(shape, queries.Rows(example, head, first), nullptr, rows, scratch.features.get(),
                  scratch.inverse_norms.get());
      FloorTile(shape, scratch.features.get(), key_state, rows, scratch.floors.get());
      Gemm(rows, state_width, width, {scratch.features.get(), width}, {key_state, state_width},
           0.0f, scratch.wide.get(), state_width, state.products);
      OutputTile(shape, scratch.wide.get(), scratch.floors.get(), query_angles.At(example, first),
                 rows, output.Rows(example, head, first), row_sums + index * n + first);
    });
  };
  ForHeads(
      q, [&] { return TileScratch(all); }, run);
  return state;
}

LinearAttentionGradients BackwardTiled(const at::Tensor& gradient, const at::Tensor& q,
                                       const at::Tensor& k, const at::Tensor& v,
                                       const at::Tensor& keep, const LinearAttentionSpec& spec,
                                       const LinearAttentionState& state) {
  const LinearAttentionGradients result = {EmptyHeads(q, q.size(3)), EmptyHeads(k, k.size(3)),
                                           EmptyHeads(v, v.size(3))};
  const BackwardPasses passes(gradient, q, k, v, keep, spec, state, result);
  ForHeads(
      q, [&] { return passes.MakeScratch(); },
      [&](const BackwardScratch& scratch, int64_t example, int64_t head, int64_t index) {
        passes.Queries(scratch, example, head, index);
        passes.Keys(scratch, example, head);
      });
  return result;
}

}  // namespace internal
}  // namespace lra
