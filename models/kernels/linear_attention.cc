#include "models/kernels/linear_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "lra/check.h"

namespace lra {
namespace {

using internal::LinearAttentionGradients;
using internal::LinearAttentionState;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// 1 / sqrt(|x|^2 + norm_epsilon), 0 where that is 1 / 0: [B, H, N, 1].
at::Tensor InverseNorms(const at::Tensor& x, const LinearAttentionSpec& spec) {
  const at::Tensor squares = x.square().sum(-1, true) + spec.norm_epsilon;
  return at::where(squares == 0, at::zeros_like(squares), squares.rsqrt());
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

// Chains a gradient of the features through phi.
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

// cos and sin of one side's positions, shaped to multiply [B, H, N, *].
struct Rotation {
  at::Tensor cosine, sine;

  Rotation(const at::Tensor& angles, const at::Tensor& like) {
    if (!angles.defined()) return;
    const at::Tensor shaped =
        angles.dim() == 1 ? angles.view({1, 1, -1, 1}) : angles.view({angles.size(0), 1, -1, 1});
    cosine = shaped.cos().to(like.options());
    sine = shaped.sin().to(like.options());
  }
  at::Tensor Expand(const at::Tensor& t) const {
    return cosine.defined() ? at::cat({t * cosine, t * sine}, -1) : t;
  }
  // The adjoint of Expand.
  at::Tensor Fold(const at::Tensor& t) const {
    if (!cosine.defined()) return t;
    const int64_t width = t.size(-1) / 2;
    return t.narrow(-1, 0, width) * cosine + t.narrow(-1, width, width) * sine;
  }
};

at::Tensor KeepOf(const at::Tensor& keep) {  // [B, 1, Nk, 1]
  return keep.view({keep.size(0), 1, keep.size(1), 1});
}

at::Tensor SelectKept(const at::Tensor& t, const at::Tensor& keep) {
  return keep.defined() ? at::where(KeepOf(keep), t, at::zeros({}, t.options())) : t;
}

// The floors of kSignedFloor: [B, H, N].
at::Tensor RowFloors(const at::Tensor& query_features, const at::Tensor& key_sum_norm,
                     const LinearAttentionSpec& spec) {
  const at::Tensor norms = query_features.square().sum(-1).sqrt();
  return (norms * (key_sum_norm * spec.floor_ratio)).clamp_min(spec.epsilon);
}

// |sum_j phi(k_j)|, with angles of the expanded features: [B, H, 1].
at::Tensor KeySumNorm(const at::Tensor& key_state, const LinearAttentionSpec& spec) {
  at::Tensor squares = key_state.select(-1, key_state.size(-1) - 1).square().sum(-1, true);
  if (spec.query_angles.defined()) {
    squares = squares + key_state.select(-1, key_state.size(-1) / 2 - 1).square().sum(-1, true);
  }
  return squares.sqrt();
}

struct Normalizer {
  at::Tensor inverse;  // [B, H, N]: 1 / safe row sum
  at::Tensor flows;    // [B, H, N] bool: whether the row sum has a gradient; undefined = all have
};

Normalizer Normalize(const LinearAttentionState& state, const at::Tensor& query_features,
                     const LinearAttentionSpec& spec) {
  const at::Tensor& sum = state.row_sum;
  Normalizer result;
  at::Tensor safe = sum;
  switch (spec.denominator) {
    case Denominator::kPlus:
      safe = sum + spec.epsilon;
      break;
    case Denominator::kClamp:
      safe = sum.clamp_min(spec.epsilon);
      result.flows = sum >= spec.epsilon;
      break;
    case Denominator::kSignedFloor: {
      const at::Tensor floor = RowFloors(query_features, KeySumNorm(state.key_state, spec), spec);
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

at::Tensor ValuesWithOnes(const at::Tensor& v, const at::Tensor& keep) {  // [B, H, Nk, Dv + 1]
  std::vector<int64_t> shape = v.sizes().vec();
  shape.back() = 1;
  return at::cat({SelectKept(v, keep), at::ones(shape, v.options())}, -1);
}

bool UseTiled(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const auto fits = [](const at::Tensor& t) {
    return t.device().is_cpu() && t.scalar_type() == at::kFloat && t.numel() > 0;
  };
  return fits(q) && fits(k) && fits(v);
}

class LinearAttentionFunction : public torch::autograd::Function<LinearAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const std::optional<at::Tensor>& optional_keep,
                            const LinearAttentionSpec& spec) {
    const at::Tensor keep = optional_keep.value_or(at::Tensor());
    const LinearAttentionState state = UseTiled(q, k, v)
                                           ? internal::ForwardTiled(q, k, v, keep, spec)
                                           : internal::ForwardGeneric(q, k, v, keep, spec);
    context->save_for_backward({q, k, v, state.output, state.row_sum, state.key_state});
    auto& saved = context->saved_data;
    saved["keep"] = optional_keep;
    saved["feature_map"] = static_cast<int64_t>(spec.feature_map);
    saved["leaky_slope"] = spec.leaky_slope;
    saved["norm_epsilon"] = spec.norm_epsilon;
    saved["denominator"] = static_cast<int64_t>(spec.denominator);
    saved["epsilon"] = spec.epsilon;
    saved["floor_ratio"] = spec.floor_ratio;
    if (spec.query_angles.defined()) {
      saved["query_angles"] = spec.query_angles;
      saved["key_angles"] = spec.key_angles;
    }
    return state.output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list tensors = context->get_saved_variables();
    auto& saved = context->saved_data;
    LinearAttentionSpec spec;
    spec.feature_map = static_cast<FeatureMap>(saved["feature_map"].toInt());
    spec.leaky_slope = saved["leaky_slope"].toDouble();
    spec.norm_epsilon = saved["norm_epsilon"].toDouble();
    spec.denominator = static_cast<Denominator>(saved["denominator"].toInt());
    spec.epsilon = saved["epsilon"].toDouble();
    spec.floor_ratio = saved["floor_ratio"].toDouble();
    if (saved.find("query_angles") != saved.end()) {
      spec.query_angles = saved["query_angles"].toTensor();
      spec.key_angles = saved["key_angles"].toTensor();
    }
    const at::Tensor keep = saved["keep"].toOptional<at::Tensor>().value_or(at::Tensor());
    const LinearAttentionState state = {tensors[3], tensors[4], tensors[5]};
    const bool tiled = UseTiled(tensors[0], tensors[1], tensors[2]);
    const LinearAttentionGradients result =
        (tiled ? internal::BackwardTiled : internal::BackwardGeneric)(
            gradients[0], tensors[0], tensors[1], tensors[2], keep, spec, state);
    return {result.q, result.k, result.v, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

namespace internal {

LinearAttentionState ForwardGeneric(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& keep, const LinearAttentionSpec& spec) {
  const Rotation query(spec.query_angles, q), key(spec.key_angles, q);
  const int64_t width = v.size(-1);
  const at::Tensor key_features = SelectKept(Features(k, spec), keep);  // [B, H, Nk, D]
  const at::Tensor query_features = Features(q, spec);
  LinearAttentionState state;
  state.key_state = at::matmul(key_features.transpose(-1, -2), key.Expand(ValuesWithOnes(v, keep)));
  const at::Tensor sums =
      query.Fold(at::matmul(query_features, state.key_state));  // [B, H, N, Dv + 1]
  state.row_sum = sums.select(-1, width).contiguous();
  const at::Tensor inverse = Normalize(state, query_features, spec).inverse.unsqueeze(-1);
  state.output = (sums.narrow(-1, 0, width) * inverse).transpose(1, 2).contiguous().transpose(1, 2);
  return state;
}

LinearAttentionGradients BackwardGeneric(const at::Tensor& gradient, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v,
                                         const at::Tensor& keep, const LinearAttentionSpec& spec,
                                         const LinearAttentionState& state) {
  const Rotation query(spec.query_angles, q), key(spec.key_angles, q);
  const at::Tensor query_features = Features(q, spec);
  const Normalizer normalizer = Normalize(state, query_features, spec);
  const at::Tensor inverse = normalizer.inverse.unsqueeze(-1);  // [B, H, N, 1]
  at::Tensor sum_gradient = -(gradient * state.output).sum(-1, true) * inverse;
  if (normalizer.flows.defined()) {
    sum_gradient = at::where(normalizer.flows.unsqueeze(-1), sum_gradient,
                             at::zeros({}, sum_gradient.options()));
  }
  const at::Tensor expanded =
      query.Expand(at::cat({gradient * inverse, sum_gradient}, -1));  // [B, H, N, W]
  const at::Tensor state_gradient =
      at::matmul(query_features.transpose(-1, -2), expanded);  // [B, H, D, W]
  LinearAttentionGradients result;
  result.q = ThroughFeatures(at::matmul(expanded, state.key_state.transpose(-1, -2)), q, spec);
  const at::Tensor values = key.Expand(ValuesWithOnes(v, keep));  // [B, H, Nk, W]
  result.k = SelectKept(
      ThroughFeatures(at::matmul(values, state_gradient.transpose(-1, -2)), k, spec), keep);
  const at::Tensor features = SelectKept(Features(k, spec), keep);
  const at::Tensor value_gradient = key.Fold(at::matmul(features, state_gradient));
  result.v = SelectKept(value_gradient.narrow(-1, 0, v.size(-1)), keep);
  return result;
}

}  // namespace internal

at::Tensor LinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& keep, const LinearAttentionSpec& spec) {
  LRA_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 && k.size(2) == v.size(2) &&
            q.size(3) == k.size(3));
  LRA_CHECK(spec.query_angles.defined() == spec.key_angles.defined());
  return LinearAttentionFunction::apply(q, k, v,
                                        keep.defined() ? std::optional(keep) : std::nullopt, spec);
}

at::Tensor DenseWeightedAverage(const at::Tensor& weights, const at::Tensor& v,
                                const at::Tensor& keep, Denominator denominator, double epsilon) {
  const at::Tensor kept =
      keep.defined() ? weights.masked_fill(keep.logical_not().view({keep.size(0), 1, 1, -1}), 0)
                     : weights;
  LRA_CHECK(denominator == Denominator::kPlus || denominator == Denominator::kClamp);
  const at::Tensor sum = kept.sum(-1, true);
  const at::Tensor safe =
      denominator == Denominator::kPlus ? sum + epsilon : sum.clamp_min(epsilon);
  const at::Tensor average = at::matmul(kept, SelectKept(v, keep)) / safe.masked_fill(safe == 0, 1);
  return average.masked_fill(safe == 0, 0);
}

at::Tensor DenseSignedAverage(const at::Tensor& query_features, const at::Tensor& key_features,
                              const at::Tensor& v, const at::Tensor& keep, double floor_ratio,
                              double epsilon) {
  const at::Tensor kept = SelectKept(key_features, keep);
  const at::Tensor weights = at::matmul(query_features, kept.transpose(-1, -2));
  const at::Tensor sum = weights.sum(-1, true);  // [B, H, N, 1]
  const at::Tensor norms = query_features.norm(2, -1, true) * kept.sum(2, true).norm(2, -1, true);
  const at::Tensor floor = (norms * floor_ratio).clamp_min(epsilon).detach();
  const at::Tensor safe = at::where(sum.abs() >= floor, sum, at::where(sum < 0, -floor, floor));
  const at::Tensor average =
      at::matmul(weights, SelectKept(v, keep)) / safe.masked_fill(safe == 0, 1);
  return average.masked_fill(safe == 0, 0);
}

at::Tensor KeyCounts(const at::Tensor& k, const at::Tensor& keep) {
  if (!keep.defined()) {
    return at::full({1, 1, 1, 1}, static_cast<double>(std::max<int64_t>(1, k.size(2))),
                    k.options());
  }
  return keep.sum(1).clamp_min(1).to(k.options()).view({-1, 1, 1, 1});
}

}  // namespace lra
