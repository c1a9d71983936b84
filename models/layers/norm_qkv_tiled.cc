// The tiled form of LN and q, k, v for float32 on the CPU. A tile of tokens goes through the whole
// piece while it is in the cache, and the backward leaves out tiles without a gradient.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "models/base/optional_tensor.h"
#include "models/kernels/floats.h"
#include "models/kernels/token_tiles.h"
#include "models/kernels/zero_rows.h"
#include "models/layers/layer_pieces.h"
#include "models/layers/norm_tile.h"

namespace lra {
namespace {

using internal::Data;
using internal::NormTile;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;

class NormQkvFunction : public torch::autograd::Function<NormQkvFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const at::Tensor& norm_weight, const at::Tensor& norm_bias,
                               const at::Tensor& wq, const at::Tensor& wk, const at::Tensor& wv,
                               const OptionalTensor& bq, const OptionalTensor& bk,
                               const OptionalTensor& bv, double epsilon) {
    const at::Tensor none;
    context->save_for_backward({x, norm_weight, norm_bias, wq, wk, wv, bq.value_or(none),
                                bk.value_or(none), bv.value_or(none)});
    const ProductType type = ActiveProductType();
    context->saved_data["epsilon"] = epsilon;
    context->saved_data["type"] = static_cast<int64_t>(type);
    const Maps maps = {{norm_weight, norm_bias, epsilon},
                       {{wq, bq.value_or(none)}, {wk, bk.value_or(none)}, {wv, bv.value_or(none)}}};
    const int64_t width = x.size(2), tokens = x.size(0) * x.size(1);
    variable_list out;
    for (const LinearMap& map : maps.maps)
      out.push_back(at::empty({x.size(0), x.size(1), map.weight.size(0)}, x.options()));
    float* to[3] = {out[0].mutable_data_ptr<float>(), out[1].mutable_data_ptr<float>(),
                    out[2].mutable_data_ptr<float>()};
    const float* from = Data(x);
    const ForwardMap forward[3] = {
        {maps.maps[0], type}, {maps.maps[1], type}, {maps.maps[2], type}};
    ForShards(tokens, [&](int64_t, int64_t begin, int64_t end) {
      NormTile tile(width);
      ForTiles(begin, end, [&](int64_t first, int64_t rows) {
        tile.Forward(from + first * width, rows, maps.norm);
        for (int i = 0; i < 3; ++i)
          forward[i].Rows(tile.y.get(), rows, to[i] + first * maps.maps[i].weight.size(0));
      });
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list s = context->get_saved_variables();
    const at::Tensor& x = s[0];
    const Maps maps = {{s[1], s[2], context->saved_data["epsilon"].toDouble()},
                       {{s[3], s[6]}, {s[4], s[7]}, {s[5], s[8]}}};
    const int64_t width = x.size(2), tokens = x.size(0) * x.size(1);
    const at::Tensor dense[3] = {gradients[0].contiguous(), gradients[1].contiguous(),
                                 gradients[2].contiguous()};
    const float* upstream[3] = {Data(dense[0]), Data(dense[1]), Data(dense[2])};
    const auto type = static_cast<ProductType>(context->saved_data["type"].toInt());
    MapGradient sums[3] = {MapGradient(maps.maps[0], type), MapGradient(maps.maps[1], type),
                           MapGradient(maps.maps[2], type)};
    const BackwardMap backward[3] = {
        {maps.maps[0], type}, {maps.maps[1], type}, {maps.maps[2], type}};
    ShardedGradient norm_weight(s[1]), norm_bias(s[2]);
    at::Tensor dx = at::empty_like(x);
    float* to = dx.mutable_data_ptr<float>();
    const float* from = Data(x);
    ForShards(tokens, [&](int64_t shard, int64_t begin, int64_t end) {
      NormTile tile(width);
      const Floats dy(kTileTokens * width);
      ForTiles(begin, end, [&](int64_t first, int64_t rows) {
        bool is_begun = false;  // by the first of the three gradients that the tile has
        for (int i = 0; i < 3; ++i) {
          const int64_t joined_width = maps.maps[i].weight.size(0);
          const float* gradient = upstream[i] + first * joined_width;
          if (!HasNonZero(gradient, rows, joined_width, joined_width)) continue;
          if (!is_begun) tile.Forward(from + first * width, rows, maps.norm);
          sums[i].Add(tile.y.get(), gradient, rows, maps.maps[i], shard);
          backward[i].Rows(gradient, rows, is_begun ? 1.0f : 0.0f, dy.get());
          is_begun = true;
        }
        if (!is_begun) return ClearRows(rows, width, width, to + first * width);
        tile.Backward(from + first * width, dy.get(), rows, maps.norm, nullptr, shard, &norm_weight,
                      &norm_bias, to + first * width);
      });
    });
    return {dx,
            norm_weight.Total(),
            norm_bias.Total(),
            sums[0].weight.Total(),
            sums[1].weight.Total(),
            sums[2].weight.Total(),
            sums[0].bias.Total(),
            sums[1].bias.Total(),
            sums[2].bias.Total(),
            at::Tensor()};
  }

 private:
  struct Maps {
    NormMap norm;
    LinearMap maps[3];
  };
};

}  // namespace

namespace internal {

Qkv NormQkvTiled(const at::Tensor& x, const NormQkvParameters& p) {
  const variable_list out = NormQkvFunction::apply(
      x.contiguous(), p.norm.weight, p.norm.bias, p.query.weight, p.key.weight, p.value.weight,
      IfDefined(p.query.bias), IfDefined(p.key.bias), IfDefined(p.value.bias), p.norm.epsilon);
  const auto split = [&](const at::Tensor& t) {
    return t.view({x.size(0), x.size(1), p.heads, -1}).transpose(1, 2);
  };
  return {split(out[0]), split(out[1]), split(out[2])};
}

}  // namespace internal
}  // namespace lra
