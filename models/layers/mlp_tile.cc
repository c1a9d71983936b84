#include "models/layers/mlp_tile.h"

#include "lra/check.h"
#include "models/kernels/rows.h"
#include "models/kernels/token_tiles.h"

namespace lra::internal {

MlpScratch::MlpScratch(int64_t hidden_width, bool makes_hidden)
    : activation(kTileTokens * hidden_width),
      gradient(kTileTokens * hidden_width),
      again(makes_hidden ? kTileTokens * hidden_width : 0) {}

MlpForward::MlpForward(const OutputMlpParameters& p, const DropoutKey& dropout, int64_t tokens,
                       ProductType type)
    : kind_(p.activation),
      mask_(dropout, tokens),
      hidden_width_(p.hidden.weight.size(0)),
      hidden_(p.hidden, type),
      projection_(p.projection, type) {}

void MlpForward::Rows(const float* y, int64_t first, int64_t rows, float* activation, float* u,
                      float* out) const {
  hidden_.Rows(y, rows, u);
  ActivationRows(kind_, u, rows * hidden_width_, activation);
  ApplyDropoutRows(mask_, first, rows, hidden_width_, activation, nullptr, activation);
  projection_.Rows(activation, rows, out);
}

MlpBackward::MlpBackward(const OutputMlpParameters& p, const DropoutKey& dropout, int64_t tokens,
                         ProductType type, bool makes_hidden)
    : kind_(p.activation),
      hidden_map_(p.hidden),
      projection_map_(p.projection),
      mask_(dropout, tokens),
      hidden_width_(p.hidden.weight.size(0)),
      hidden_(p.hidden, type),
      projection_(p.projection, type),
      hidden_again_(makes_hidden ? std::optional<ForwardMap>(std::in_place, p.hidden, type)
                                 : std::nullopt) {}

void MlpBackward::Rows(const float* y, const float* u, const float* gradient, int64_t first,
                       int64_t rows, int64_t shard, MlpScratch* scratch, MlpGradients* sums,
                       float* dy) const {
  if (u == nullptr) {
    LRA_CHECK(hidden_again_);
    hidden_again_->Rows(y, rows, scratch->again.get());
    u = scratch->again.get();
  }
  float *activation = scratch->activation.get(), *du = scratch->gradient.get();
  projection_.Rows(gradient, rows, 0.0f, du);
  ActivationBackwardRows(kind_, u, rows * hidden_width_, activation, du);
  ApplyDropoutRowsToBoth(mask_, first, rows, hidden_width_, activation, du);
  sums->projection.Add(activation, gradient, rows, projection_map_, shard);
  sums->hidden.Add(y, du, rows, hidden_map_, shard);
  hidden_.Rows(du, rows, 0.0f, dy);
}

}  // namespace lra::internal
