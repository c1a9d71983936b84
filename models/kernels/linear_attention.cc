#include "models/kernels/linear_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/bmm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/causal_linear_attention.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/linear_attention_chunks.h"

namespace lra {
namespace {

using internal::LinearAttentionGradients;
using internal::LinearAttentionState;
using linear_pieces::Chunked;
using linear_pieces::Cut;
using linear_pieces::CutFeatures;
using linear_pieces::CutTokens;
using linear_pieces::Divided;
using linear_pieces::GradientStates;
using linear_pieces::KeySide;
using linear_pieces::Normalize;
using linear_pieces::Normalizer;
using linear_pieces::OfHeads;
using linear_pieces::PartsOf;
using linear_pieces::QuerySide;
using linear_pieces::RowFloors;
using linear_pieces::Side;
using linear_pieces::StateParts;
using linear_pieces::ThroughCutFeatures;
using linear_pieces::ThroughDivision;
using linear_pieces::Tokens;
using linear_pieces::ValueStates;
using linear_pieces::WeightedRows;
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

// The floors of signed row sums, [B, H, N], of queries [B H, T C, F]; undefined for other
// denominators.
at::Tensor FloorsOf(const at::Tensor& queries, const StateParts& keys, const at::Tensor& q,
                    const Cut& cut, const LinearAttentionSpec& spec) {
  if (spec.denominator != Denominator::kSignedFloor) return at::Tensor();
  return RowFloors(Tokens(queries.norm(2, -1, /*keepdim=*/true), q, cut).squeeze(3),
                   keys.sums.norm(2, -1).view({q.size(0), q.size(1), 1}), spec);
}

// States of all chunks [B H T, V, F], summed over the chunks of each of x's heads: [B H, V, F].
at::Tensor OverChunks(const at::Tensor& states, const at::Tensor& x, const Cut& cut) {
  if (cut.count == 1) return states;
  return states.view({x.size(0) * x.size(1), cut.count, states.size(1), states.size(2)}).sum(1);
}

}  // namespace

namespace internal {

LinearAttentionState ForwardGeneric(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& keep, const LinearAttentionSpec& spec) {
  const Cut cut = Cut::IntoChunks(k.size(2)), whole = Cut::Whole(q.size(2));
  const Side query = QuerySide(q, spec), key = KeySide(k, keep, query, spec);
  const at::Tensor queries = OfHeads(CutFeatures(query, spec, whole));  // [B H, N, F]
  LinearAttentionState state;
  state.key_state =
      OverChunks(ValueStates(Chunked(CutFeatures(key, spec, cut), cut),
                             Chunked(CutTokens(v, at::Tensor(), key.hidden, cut), cut), spec),
                 k, cut);
  const StateParts keys = PartsOf(state.key_state, v.size(3));
  if (keys.sums.defined())
    state.row_sum = Tokens(at::bmm(queries, keys.sums.transpose(1, 2)), q, whole).squeeze(3);
  const Normalizer normalizer =
      Normalize(state.row_sum, FloorsOf(queries, keys, q, whole, spec), spec);
  state.output =
      Divided(Tokens(at::bmm(queries, keys.values.transpose(1, 2)), q, whole), normalizer);
  return state;
}

LinearAttentionGradients BackwardGeneric(const at::Tensor& gradient, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v,
                                         const at::Tensor& keep, const LinearAttentionSpec& spec,
                                         const LinearAttentionState& state) {
  const Cut query_cut = Cut::IntoChunks(q.size(2)), key_cut = Cut::Whole(k.size(2));
  const Side query = QuerySide(q, spec), key = KeySide(k, keep, query, spec);
  const at::Tensor queries = CutFeatures(query, spec, query_cut);  // [B, H, T C, F]
  const StateParts of_keys = PartsOf(state.key_state, v.size(3));
  const WeightedRows rows = ThroughDivision(
      gradient, state.output,
      Normalize(state.row_sum, FloorsOf(OfHeads(queries), of_keys, q, query_cut, spec), spec),
      query_cut);
  at::Tensor dq = at::bmm(OfHeads(rows.values), of_keys.values);  // [B H, T C, F]
  if (rows.sums.defined()) dq.addcmul_(OfHeads(rows.sums), of_keys.sums);
  LinearAttentionGradients result;
  result.q = ThroughCutFeatures(Tokens(dq, q, query_cut), query, spec);

  const at::Tensor state_gradient = OverChunks(
      GradientStates(Chunked(queries, query_cut), Chunked(rows, query_cut)), q, query_cut);
  const StateParts of_state = PartsOf(state_gradient, v.size(3));
  const at::Tensor values = OfHeads(CutTokens(v, at::Tensor(), key.hidden, key_cut));
  at::Tensor dk = at::bmm(values, of_state.values);  // [B H, Nk, F]
  if (of_state.sums.defined()) dk.add_(of_state.sums);
  result.k = ThroughCutFeatures(Tokens(dk, k, key_cut), key, spec);
  const at::Tensor keys = OfHeads(CutFeatures(key, spec, key_cut));
  result.v = EmptyHeads(v, v.size(3));
  result.v.copy_(Tokens(at::bmm(keys, of_state.values.transpose(1, 2)), v, key_cut));
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
  LRA_CHECK(!spec.log_decay.defined() && !spec.state_scale.defined() && spec.chunk_starts.empty());
  return LinearAttentionFunction::apply(q, k, v, IfDefined(keep), spec);
}

}  // namespace lra
