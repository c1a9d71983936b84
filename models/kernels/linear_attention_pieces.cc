#include "models/kernels/linear_attention_pieces.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace lra::linear_pieces {
namespace {

// 1 / sqrt(|x|^2 + norm_epsilon), 0 where that is 1 / 0: [B, H, N, 1].
at::Tensor InverseNorms(const at::Tensor& x, const LinearAttentionSpec& spec) {
  const at::Tensor squares = x.square().sum(-1, true) + spec.norm_epsilon;
  return at::where(squares == 0, at::zeros_like(squares), squares.rsqrt());
}

// The floors of kSignedFloor: [B, H, N].
at::Tensor RowFloors(const at::Tensor& query_features, const at::Tensor& key_sum_norm,
                     const LinearAttentionSpec& spec) {
  const at::Tensor norms = query_features.square().sum(-1).sqrt();
  return (norms * (key_sum_norm * spec.floor_ratio)).clamp_min(spec.epsilon);
}

}  // namespace

at::Tensor Features(const at::Tensor& x, const LinearAttentionSpec& spec) {
  switch (spec.feature_map) {
    case FeatureMap::kEluPlusOne:
      return x.clamp_min(0) + x.clamp_max(0).exp();
    case FeatureMap::kRelu:
      return x.relu();
    case FeatureMap::kLeakyRelu:
      return at::leaky_relu(x, spec.leaky_slope);
    case FeatureMap::kIdentity:
      return x;
    case FeatureMap::kUnit:
      return x * InverseNorms(x, spec);
  }
  return x;
}

at::Tensor ThroughFeatures(const at::Tensor& gradient, const at::Tensor& x,
                           const LinearAttentionSpec& spec) {
  switch (spec.feature_map) {
    case FeatureMap::kEluPlusOne:
      return gradient * x.clamp_max(0).exp();
    case FeatureMap::kRelu:
      return gradient * (x > 0).to(x.scalar_type());
    case FeatureMap::kLeakyRelu:
      return at::where(x > 0, gradient, gradient * spec.leaky_slope);
    case FeatureMap::kIdentity:
      return gradient;
    case FeatureMap::kUnit: {
      const at::Tensor inverse = InverseNorms(x, spec), unit = x * inverse;
      return (gradient - unit * (gradient * unit).sum(-1, true)) * inverse;
    }
  }
  return gradient;
}

Rotation::Rotation(const at::Tensor& angles, const at::Tensor& like) {
  if (!angles.defined()) return;
  const at::Tensor shaped =
      angles.dim() == 1 ? angles.view({1, 1, -1, 1}) : angles.view({angles.size(0), 1, -1, 1});
  cosine = shaped.cos().to(like.options());
  sine = shaped.sin().to(like.options());
}

at::Tensor Rotation::Expand(const at::Tensor& t) const {
  return cosine.defined() ? at::cat({t * cosine, t * sine}, -1) : t;
}

at::Tensor Rotation::Fold(const at::Tensor& t) const {
  if (!cosine.defined()) return t;
  const int64_t width = t.size(-1) / 2;
  return t.narrow(-1, 0, width) * cosine + t.narrow(-1, width, width) * sine;
}

at::Tensor KeySumNorm(const at::Tensor& key_state, const LinearAttentionSpec& spec) {
  if (spec.denominator != Denominator::kSignedFloor) return at::Tensor();
  at::Tensor squares = key_state.select(-1, key_state.size(-1) - 1).square().sum(-1, true);
  if (spec.query_angles.defined()) {
    squares = squares + key_state.select(-1, key_state.size(-1) / 2 - 1).square().sum(-1, true);
  }
  return squares.sqrt();
}

Normalizer Normalize(const at::Tensor& sum, const at::Tensor& query_features,
                     const at::Tensor& key_sum_norm, const LinearAttentionSpec& spec) {
  Normalizer result;
  at::Tensor safe = sum;
  switch (spec.denominator) {
    case Denominator::kPlus:
      safe = sum + spec.epsilon;
      break;
    case Denominator::kClamp:
      safe = spec.floors.defined()
                 ? at::maximum(sum, spec.floors.to(sum.options()).view({-1, 1, 1}))
                 : sum.clamp_min(spec.epsilon);
      result.flows = safe == sum;
      break;
    case Denominator::kSignedFloor: {
      const at::Tensor floor = RowFloors(query_features, key_sum_norm, spec);
      result.flows = sum.abs() >= floor;
      safe = at::where(result.flows, sum, at::where(sum < 0, -floor, floor));
      break;
    }
    case Denominator::kNone:
      safe = at::ones_like(sum);
      result.flows = at::zeros_like(sum, at::kBool);
      break;
  }
  // 0 where there is nothing to divide by (no keys and epsilon 0).
  result.inverse = at::where(safe == 0, at::zeros_like(safe), safe.reciprocal());
  return result;
}

at::Tensor ValuesWithOnes(const at::Tensor& v, const at::Tensor& keep) {
  std::vector<int64_t> shape = v.sizes().vec();
  shape.back() = 1;
  return at::cat({Kept(v, keep), at::ones(shape, v.options())}, -1);
}

void SaveSpec(const LinearAttentionSpec& spec, torch::autograd::AutogradContext* context) {
  auto& saved = context->saved_data;
  saved["feature_map"] = static_cast<int64_t>(spec.feature_map);
  saved["leaky_slope"] = spec.leaky_slope;
  saved["norm_epsilon"] = spec.norm_epsilon;
  saved["denominator"] = static_cast<int64_t>(spec.denominator);
  saved["epsilon"] = spec.epsilon;
  saved["floor_ratio"] = spec.floor_ratio;
  if (spec.floors.defined()) saved["floors"] = spec.floors;
  if (!spec.query_angles.defined()) return;
  saved["query_angles"] = spec.query_angles;
  saved["key_angles"] = spec.key_angles;
}

LinearAttentionSpec LoadSpec(torch::autograd::AutogradContext* context) {
  auto& saved = context->saved_data;
  LinearAttentionSpec spec;
  spec.feature_map = static_cast<FeatureMap>(saved["feature_map"].toInt());
  spec.leaky_slope = saved["leaky_slope"].toDouble();
  spec.norm_epsilon = saved["norm_epsilon"].toDouble();
  spec.denominator = static_cast<Denominator>(saved["denominator"].toInt());
  spec.epsilon = saved["epsilon"].toDouble();
  spec.floor_ratio = saved["floor_ratio"].toDouble();
  if (saved.find("floors") != saved.end()) spec.floors = saved["floors"].toTensor();
  if (saved.find("query_angles") == saved.end()) return spec;
  spec.query_angles = saved["query_angles"].toTensor();
  spec.key_angles = saved["key_angles"].toTensor();
  return spec;
}

}  // namespace lra::linear_pieces
