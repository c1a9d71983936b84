#include "models/kernels/linear_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/causal_linear_attention.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/linear_attention_pieces.h"

namespace lra {
namespace {

using internal::LinearAttentionGradients;
using internal::LinearAttentionState;
using linear_pieces::Features;
using linear_pieces::Kept;
using linear_pieces::KeySumNorm;
using linear_pieces::Normalize;
using linear_pieces::Normalizer;
using linear_pieces::Rotation;
using linear_pieces::ThroughFeatures;
using linear_pieces::ValuesWithOnes;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr KernelNeeds kLinearNeeds;

class LinearAttentionFunction : public torch::autograd::Function<LinearAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const std::optional<at::Tensor>& optional_keep,
                            const LinearAttentionSpec& spec) {
    const at::Tensor keep = optional_keep.value_or(at::Tensor());
    const bool is_tiled = DispatchKernel(kLinearNeeds, {q, k, v}) != KernelPath::kGeneric;
    const LinearAttentionState state =
        (is_tiled ? internal::ForwardTiled : internal::ForwardGeneric)(q, k, v, keep, spec);
    context->save_for_backward({q, k, v, state.output, state.row_sum, state.key_state});
    context->saved_data["keep"] = optional_keep;
    context->saved_data["is_tiled"] = is_tiled;
    context->saved_data["products"] = static_cast<int64_t>(state.products);
    linear_pieces::SaveSpec(spec, context);
    return state.output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list tensors = context->get_saved_variables();
    const LinearAttentionSpec spec = linear_pieces::LoadSpec(context);
    const at::Tensor keep =
        context->saved_data["keep"].toOptional<at::Tensor>().value_or(at::Tensor());
    const LinearAttentionState state = {
        tensors[3], tensors[4], tensors[5],
        static_cast<ProductType>(context->saved_data["products"].toInt())};
    const bool is_tiled = context->saved_data["is_tiled"].toBool();
    const LinearAttentionGradients result =
        (is_tiled ? internal::BackwardTiled : internal::BackwardGeneric)(
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
  const at::Tensor key_features = Kept(Features(k, spec), keep);  // [B, H, Nk, D]
  const at::Tensor query_features = Features(q, spec);
  LinearAttentionState state;
  state.key_state = at::matmul(key_features.transpose(-1, -2), key.Expand(ValuesWithOnes(v, keep)));
  const at::Tensor sums =
      query.Fold(at::matmul(query_features, state.key_state));  // [B, H, N, Dv + 1]
  state.row_sum = sums.select(-1, width).contiguous();
  const at::Tensor inverse =
      Normalize(state.row_sum, query_features, KeySumNorm(state.key_state, spec), spec)
          .inverse.unsqueeze(-1);
  state.output = (sums.narrow(-1, 0, width) * inverse).transpose(1, 2).contiguous().transpose(1, 2);
  return state;
}

LinearAttentionGradients BackwardGeneric(const at::Tensor& gradient, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v,
                                         const at::Tensor& keep, const LinearAttentionSpec& spec,
                                         const LinearAttentionState& state) {
  const Rotation query(spec.query_angles, q), key(spec.key_angles, q);
  const at::Tensor query_features = Features(q, spec);
  const Normalizer normalizer =
      Normalize(state.row_sum, query_features, KeySumNorm(state.key_state, spec), spec);
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
  result.k =
      Kept(ThroughFeatures(at::matmul(values, state_gradient.transpose(-1, -2)), k, spec), keep);
  const at::Tensor features = Kept(Features(k, spec), keep);
  const at::Tensor value_gradient = key.Fold(at::matmul(features, state_gradient));
  result.v = Kept(value_gradient.narrow(-1, 0, v.size(-1)), keep);
  return result;
}

}  // namespace internal

at::Tensor LinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& keep, const LinearAttentionSpec& spec) {
  LRA_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 && k.size(2) == v.size(2) &&
            q.size(3) == k.size(3));
  LRA_CHECK(spec.query_angles.defined() == spec.key_angles.defined());
  LRA_CHECK(!spec.floors.defined() || (spec.denominator == Denominator::kClamp && !spec.causal &&
                                       spec.floors.dim() == 1 && spec.floors.size(0) == q.size(0)));
  if (spec.causal) return CausalLinearAttention(q, k, v, keep, spec);
  LRA_CHECK(!spec.log_decay.defined() && !spec.state_scale.defined());
  return LinearAttentionFunction::apply(q, k, v, IfDefined(keep), spec);
}

}  // namespace lra
