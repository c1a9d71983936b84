#include "models/kernels/fused_random_features.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <vector>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/gemm.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/random_feature_tiles.h"
#include "models/kernels/token_tiles.h"

namespace lra {
namespace {

using feature_tiles::AngleGradientTile;
using feature_tiles::KeyExpTile;
using feature_tiles::KeyLogTile;
using feature_tiles::LogGradientTile;
using feature_tiles::PositiveInputTile;
using feature_tiles::QueryTile;
using feature_tiles::ScaledTile;
using feature_tiles::SigmaTile;
using feature_tiles::SinCosTile;
using feature_tiles::UnitInputTile;
using feature_tiles::UnitTile;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What all tokens of the queries, or of the keys, have in common.
struct Side {
  const at::Tensor projection;  // [M, D], dense float32
  const KeepTable keep;
  const int64_t features, width;

  Side(const at::Tensor& matrix, const at::Tensor& mask)
      : projection(matrix.to(at::kFloat).contiguous()),
        keep(mask),
        features(projection.size(0)),
        width(projection.size(1)) {}
  // Project() maps x [rows, D] to w . x [rows, M]; Return() takes gradients the way back.
  void Project(const float* x, int64_t rows, float* out) const {
    Gemm(rows, features, width, {x, width}, {data(), width, true}, 0.0f, out, features);
  }
  void Return(const float* gradient, int64_t rows, float* out) const {
    Gemm(rows, width, features, {gradient, features}, {data(), width}, 0.0f, out, width);
  }

 private:
  const float* data() const { return projection.const_data_ptr<float>(); }
};

// Returns a dense tensor [B, H, N, width] without values.
at::Tensor EmptyFeatures(const at::Tensor& x, int64_t width) {
  return at::empty({x.size(0), x.size(1), x.size(2), width}, x.options());
}

// Returns the features of keys, exp(logarithm - shift), and sets `shift` [B, H, M]: the largest
// logarithm of each feature over the kept keys, or 0 where no key is kept.
at::Tensor KeyFeatures(const at::Tensor& x, const Side& side, float scale, at::Tensor* shift) {
  const int64_t n = x.size(2), features = side.features;
  const at::Tensor phi = EmptyFeatures(x, features);
  constexpr float kNone = -1e30f;
  *shift = at::full({x.size(0), x.size(1), features}, kNone, x.options());
  float *values = phi.mutable_data_ptr<float>(), *shifts = shift->mutable_data_ptr<float>();
  const HeadRows inputs(x);
  ForHeads(x, [&](int64_t example, int64_t head, int64_t index) {
    std::vector<float> scaled(kTileTokens * side.width), half_squares(kTileTokens);
    float *own = values + index * n * features, *largest = shifts + index * features;
    ForTiles(0, n, [&](int64_t first, int64_t rows) {
      const bool* kept = side.keep.At(example, first);
      ScaledTile(inputs.Rows(example, head, first), kept, rows, side.width, scale, scaled.data(),
                 half_squares.data());
      side.Project(scaled.data(), rows, own + first * features);
      KeyLogTile(kept, half_squares.data(), rows, features, own + first * features, largest);
    });
    for (int64_t c = 0; c < features; ++c) largest[c] = largest[c] == kNone ? 0 : largest[c];
    ForTiles(0, n, [&](int64_t first, int64_t rows) {
      KeyExpTile(side.keep.At(example, first), largest, rows, features, own + first * features);
    });
  });
  return phi;
}

at::Tensor QueryFeatures(const at::Tensor& x, const Side& side, float scale,
                         const at::Tensor& shift) {
  const int64_t n = x.size(2), features = side.features;
  const at::Tensor phi = EmptyFeatures(x, features);
  float* values = phi.mutable_data_ptr<float>();
  const float* shifts = shift.const_data_ptr<float>();
  const HeadRows inputs(x);
  ForHeads(x, [&](int64_t example, int64_t head, int64_t index) {
    std::vector<float> scaled(kTileTokens * side.width), half_squares(kTileTokens);
    ForTiles(0, n, [&](int64_t first, int64_t rows) {
      float* tile = values + (index * n + first) * features;
      ScaledTile(inputs.Rows(example, head, first), nullptr, rows, side.width, scale, scaled.data(),
                 half_squares.data());
      side.Project(scaled.data(), rows, tile);
      QueryTile(shifts + index * features, rows, features, tile);
    });
  });
  return phi;
}

class PositiveFunction : public torch::autograd::Function<PositiveFunction> {
 public:
  // For keys, *key_shift is written; for queries, it is read.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const std::optional<at::Tensor>& keep, const at::Tensor& projection,
                            double scale, bool is_query, at::Tensor* key_shift) {
    const Side side(projection, keep.value_or(at::Tensor()));
    const float factor = static_cast<float>(scale);
    const at::Tensor phi = is_query ? QueryFeatures(x, side, factor, *key_shift)
                                    : KeyFeatures(x, side, factor, key_shift);
    context->save_for_backward({x, phi});
    context->saved_data["keep"] = keep;
    context->saved_data["projection"] = projection;
    context->saved_data["scale"] = scale;
    return phi;
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    auto& saved = context->saved_data;
    const Side side(saved["projection"].toTensor(),
                    saved["keep"].toOptional<at::Tensor>().value_or(at::Tensor()));
    const float scale = static_cast<float>(saved["scale"].toDouble());
    const variable_list tensors = context->get_saved_variables();
    const at::Tensor& x = tensors[0];
    const at::Tensor result = EmptyHeads(x, side.width);
    const HeadRows inputs(x), phi(tensors[1]), gradient(upstream[0]), out(result);
    ForHeads(x, [&](int64_t example, int64_t head, int64_t) {
      std::vector<float> logs(kTileTokens * side.features), through(kTileTokens * side.width),
          sums(kTileTokens);
      ForTiles(0, x.size(2), [&](int64_t first, int64_t rows) {
        LogGradientTile(gradient.Rows(example, head, first), phi.Rows(example, head, first), rows,
                        side.features, logs.data(), sums.data());
        side.Return(logs.data(), rows, through.data());
        PositiveInputTile(inputs.Rows(example, head, first), side.keep.At(example, first),
                          through.data(), sums.data(), rows, side.width, scale,
                          out.Rows(example, head, first));
      });
    });
    return {result, {}, {}, {}, {}, {}};
  }
};

class TrigonometricFunction : public torch::autograd::Function<TrigonometricFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const std::optional<at::Tensor>& keep, const at::Tensor& projection,
                            const at::Tensor& sigma) {
    const Side side(projection, keep.value_or(at::Tensor()));
    const float factor = 1.0f / std::sqrt(static_cast<float>(side.features));
    const at::Tensor phi = EmptyFeatures(x, 2 * side.features);
    const at::Tensor scales = sigma.to(at::kFloat).contiguous();
    float* values = phi.mutable_data_ptr<float>();
    const HeadRows inputs(x);
    ForHeads(x, [&](int64_t example, int64_t head, int64_t index) {
      std::vector<float> unit(kTileTokens * side.width), inverse_norms(kTileTokens),
          angles(kTileTokens * side.features);
      ForTiles(0, x.size(2), [&](int64_t first, int64_t rows) {
        UnitTile(inputs.Rows(example, head, first), side.keep.At(example, first), rows, side.width,
                 unit.data(), inverse_norms.data());
        SigmaTile(unit.data(), scales.const_data_ptr<float>() + head * side.width, rows, side.width,
                  unit.data());
        side.Project(unit.data(), rows, angles.data());
        SinCosTile(angles.data(), rows, side.features, factor,
                   values + (index * x.size(2) + first) * 2 * side.features);
      });
    });
    context->save_for_backward({x, phi, sigma});
    context->saved_data["keep"] = keep;
    context->saved_data["projection"] = projection;
    return phi;
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    auto& saved = context->saved_data;
    const Side side(saved["projection"].toTensor(),
                    saved["keep"].toOptional<at::Tensor>().value_or(at::Tensor()));
    const variable_list tensors = context->get_saved_variables();
    const at::Tensor &x = tensors[0], scales = tensors[2].to(at::kFloat).contiguous();
    const at::Tensor result = EmptyHeads(x, side.width);
    // Each (example, head) has a sum of its own, so that threads do not race.
    const at::Tensor sums = at::zeros({x.size(0), x.size(1), side.width}, x.options());
    float* sum = sums.mutable_data_ptr<float>();
    const HeadRows inputs(x), phi(tensors[1]), gradient(upstream[0]), out(result);
    ForHeads(x, [&](int64_t example, int64_t head, int64_t index) {
      std::vector<float> unit(kTileTokens * side.width), through(kTileTokens * side.width),
          inverse_norms(kTileTokens), angles(kTileTokens * side.features);
      ForTiles(0, x.size(2), [&](int64_t first, int64_t rows) {
        const bool* kept = side.keep.At(example, first);
        AngleGradientTile(gradient.Rows(example, head, first), phi.Rows(example, head, first), rows,
                          side.features, angles.data());
        side.Return(angles.data(), rows, through.data());
        UnitTile(inputs.Rows(example, head, first), kept, rows, side.width, unit.data(),
                 inverse_norms.data());
        UnitInputTile(kept, through.data(), unit.data(), inverse_norms.data(),
                      scales.const_data_ptr<float>() + head * side.width, rows, side.width,
                      out.Rows(example, head, first), sum + index * side.width);
      });
    });
    return {result, {}, {}, sums.sum(0).to(tensors[2].scalar_type())};
  }
};

}  // namespace

bool HasFusedFeatures(const at::Tensor& q, const at::Tensor& k) {
  return DispatchKernel(KernelNeeds(), {q, k}) != KernelPath::kGeneric;
}

StableFeatures FusedStableFeatures(const at::Tensor& q, const at::Tensor& k, const at::Tensor& keep,
                                   const at::Tensor& projection, double scale) {
  at::Tensor shift;
  StableFeatures result;
  result.key = PositiveFunction::apply(k, IfDefined(keep), projection, scale, false, &shift);
  result.query = PositiveFunction::apply(q, std::nullopt, projection, scale, true, &shift);
  return result;
}

at::Tensor FusedTrigonometricFeatures(const at::Tensor& x, const at::Tensor& keep,
                                      const at::Tensor& projection, const at::Tensor& sigma) {
  return TrigonometricFunction::apply(x, IfDefined(keep), projection, sigma);
}

}  // namespace lra
