#include "models/kernels/linear_attention_pieces.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/hardshrink.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>

#include <limits>

namespace lra::linear_pieces {
namespace {

constexpr double kSmallestNormal = std::numeric_limits<float>::min();

}  // namespace

at::Tensor InverseNorms(const at::Tensor& x, const LinearAttentionSpec& spec) {
  const at::Tensor squares = x.square().sum(-1, true) + spec.norm_epsilon;
  if (spec.norm_epsilon >= kSmallestNormal) return squares.rsqrt();
  return squares.rsqrt().masked_fill_(squares == 0, 0);
}

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

at::Tensor RowFloors(const at::Tensor& query_norms, const at::Tensor& key_sum_norms,
                     const LinearAttentionSpec& spec) {
  return (query_norms * (key_sum_norms * spec.floor_ratio)).clamp_min(spec.epsilon);
}

Normalizer Normalize(const at::Tensor& sum, const at::Tensor& floors,
                     const LinearAttentionSpec& spec) {
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
    case Denominator::kSignedFloor:
      result.flows = sum.abs() >= floors;
      safe = at::where(result.flows, sum, at::where(sum < 0, -floors, floors));
      break;
    case Denominator::kNone:
      return result;
  }
  // 0 where there is nothing to divide by (no keys and epsilon 0): small sums become 0, and the
  // inverses of 0, which are infinite, too. NaN stays.
  result.inverse = at::hardshrink(safe, SmallestRowSum(safe))
                       .reciprocal_()
                       .nan_to_num_(std::numeric_limits<double>::quiet_NaN(), 0, 0);
  return result;
}

at::Tensor RowSumGradient(const at::Tensor& gradient, const at::Tensor& output,
                          const Normalizer& normalizer) {
  at::Tensor result = -(gradient * output).sum(-1, true) * normalizer.inverse.unsqueeze(-1);
  if (normalizer.flows.defined())
    result.masked_fill_(normalizer.flows.logical_not().unsqueeze(-1), 0);
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
