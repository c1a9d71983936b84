// What the tiled forms of linear attention share: shapes of tiles, and angles by token. Private to
// this folder.
#ifndef LRA_MODELS_KERNELS_LINEAR_ATTENTION_SHAPES_H_
#define LRA_MODELS_KERNELS_LINEAR_ATTENTION_SHAPES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/kernels/linear_attention.h"
#include "models/kernels/linear_attention_tiles.h"
#include "models/kernels/tile_product.h"

namespace lra {

class AngleTable {
 public:
  explicit AngleTable(const at::Tensor& angles) {
    if (!angles.defined()) return;
    cosine_ = angles.cos().to(at::kFloat).contiguous();
    sine_ = angles.sin().to(at::kFloat).contiguous();
    stride_ = angles.dim() == 2 && angles.size(0) > 1 ? angles.size(1) : 0;
  }
  Angles At(int64_t example, int64_t token) const {
    if (!cosine_.defined()) return {};
    const int64_t at = example * stride_ + token;
    return {cosine_.const_data_ptr<float>() + at, sine_.const_data_ptr<float>() + at};
  }

 private:
  at::Tensor cosine_, sine_;
  int64_t stride_ = 0;
};

inline TileShape MakeTileShape(const at::Tensor& q, const at::Tensor& v,
                               const LinearAttentionSpec& spec) {
  TileShape shape;
  shape.map = spec.feature_map;
  shape.slope = static_cast<float>(spec.leaky_slope);
  shape.norm_epsilon = static_cast<float>(spec.norm_epsilon);
  shape.denominator = spec.denominator;
  shape.epsilon = static_cast<float>(spec.epsilon);
  shape.floor_ratio = static_cast<float>(spec.floor_ratio);
  shape.width = q.size(3);
  shape.value_width = v.size(3);
  shape.state_width = RoundUp((v.size(3) + 1) * (spec.query_angles.defined() ? 2 : 1), kLaneStep);
  return shape;
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_LINEAR_ATTENTION_SHAPES_H_
