#include "models/kernels/linear_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lra/check.h"

namespace lra {
namespace {

using internal::LinearAttentionGradients;
using internal::LinearAttentionState;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

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
  }
  return x;
}

at::Tensor FeatureSlopes(const at::Tensor& x, const LinearAttentionSpec& spec) {
  switch (spec.feature_map) {
    case FeatureMap::kEluPlusOne:
      return x.clamp_max(0).exp();
    case FeatureMap::kRelu:
      return (x > 0).to(x.scalar_type());
    case FeatureMap::kLeakyRelu:
      return at::where(x > 0, at::ones_like(x), at::full_like(x, spec.leaky_slope));
    case FeatureMap::kIdentity:
      return at::ones_like(x);
  }
  return x;
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

// 1 / safe row sum; 0 where there is nothing to divide by (no keys and epsilon 0).
at::Tensor InverseRowSum(const at::Tensor& sum, const LinearAttentionSpec& spec) {
  const at::Tensor safe =
      spec.denominator == Denominator::kPlus ? sum + spec.epsilon : sum.clamp_min(spec.epsilon);
  return at::where(safe == 0, at::zeros_like(safe), safe.reciprocal());
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
    saved["denominator"] = static_cast<int64_t>(spec.denominator);
    saved["epsilon"] = spec.epsilon;
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
    spec.denominator = static_cast<Denominator>(saved["denominator"].toInt());
    spec.epsilon = saved["epsilon"].toDouble();
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
  const at::Tensor features = SelectKept(Features(k, spec), keep);  // [B, H, Nk, D]
  LinearAttentionState state;
  state.key_state = at::matmul(features.transpose(-1, -2), key.Expand(ValuesWithOnes(v, keep)));
  const at::Tensor sums =
      query.Fold(at::matmul(Features(q, spec), state.key_state));  // [B, H, N, Dv + 1]
  state.row_sum = sums.select(-1, width).contiguous();
  const at::Tensor inverse = InverseRowSum(state.row_sum, spec).unsqueeze(-1);
  state.output = (sums.narrow(-1, 0, width) * inverse).transpose(1, 2).contiguous().transpose(1, 2);
  return state;
}

LinearAttentionGradients BackwardGeneric(const at::Tensor& gradient, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v,
                                         const at::Tensor& keep, const LinearAttentionSpec& spec,
                                         const LinearAttentionState& state) {
  const Rotation query(spec.query_angles, q), key(spec.key_angles, q);
  const at::Tensor inverse = InverseRowSum(state.row_sum, spec).unsqueeze(-1);  // [B, H, N, 1]
  at::Tensor sum_gradient = -(gradient * state.output).sum(-1, true) * inverse;
  if (spec.denominator == Denominator::kClamp) {
    const at::Tensor active = (state.row_sum >= spec.epsilon).unsqueeze(-1);
    sum_gradient = at::where(active, sum_gradient, at::zeros_like(sum_gradient));
  }
  const at::Tensor expanded =
      query.Expand(at::cat({gradient * inverse, sum_gradient}, -1));  // [B, H, N, W]
  const at::Tensor state_gradient =
      at::matmul(Features(q, spec).transpose(-1, -2), expanded);  // [B, H, D, W]
  LinearAttentionGradients result;
  result.q = at::matmul(expanded, state.key_state.transpose(-1, -2)) * FeatureSlopes(q, spec);
  const at::Tensor values = key.Expand(ValuesWithOnes(v, keep));  // [B, H, Nk, W]
  result.k = SelectKept(
      at::matmul(values, state_gradient.transpose(-1, -2)) * FeatureSlopes(k, spec), keep);
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
  const at::Tensor sum = kept.sum(-1, true);
  const at::Tensor safe =
      denominator == Denominator::kPlus ? sum + epsilon : sum.clamp_min(epsilon);
  const at::Tensor average = at::matmul(kept, SelectKept(v, keep)) / safe.masked_fill(safe == 0, 1);
  return average.masked_fill(safe == 0, 0);
}

}  // namespace lra
