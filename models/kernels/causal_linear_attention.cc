#include "models/kernels/causal_linear_attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/linear_attention_pieces.h"

namespace lra {
namespace {

using internal::CausalGradients;
using internal::CausalState;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct CausalForm {
  decltype(internal::CausalForwardTiled)* forward;
  decltype(internal::CausalBackwardTiled)* backward;
};

// A backward takes the form of its forward.
CausalForm FormOf(bool is_tiled, const at::Tensor& q) {
  if (is_tiled) return {internal::CausalForwardTiled, internal::CausalBackwardTiled};
  if (q.is_cpu()) return {internal::CausalForwardByChunk, internal::CausalBackwardByChunk};
  return {internal::CausalForwardAtOnce, internal::CausalBackwardAtOnce};
}

class CausalLinearAttentionFunction
    : public torch::autograd::Function<CausalLinearAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const std::optional<at::Tensor>& log_decay,
                            const std::optional<at::Tensor>& keep,
                            const LinearAttentionSpec& spec) {
    const bool is_tiled = internal::TakesCausalTiles(q, k, v, spec);
    const CausalState outcome =
        FormOf(is_tiled, q).forward(q, k, v, keep.value_or(at::Tensor()), spec);
    context->save_for_backward({q, k, v, outcome.output, outcome.row_sum});
    context->saved_data["keep"] = keep;
    context->saved_data["is_tiled"] = is_tiled;
    context->saved_data["log_decay"] =
        log_decay.has_value() ? IfDefined(log_decay->detach()) : log_decay;
    context->saved_data["state_scale"] = IfDefined(spec.state_scale);
    context->saved_data["chunk_starts"] = spec.chunk_starts;
    context->saved_data["key_sum_norms"] = IfDefined(outcome.key_sum_norms);
    linear_pieces::SaveSpec(spec, context);
    return outcome.output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto optional = [&](const char* name) {
      return context->saved_data[name].toOptional<at::Tensor>().value_or(at::Tensor());
    };
    LinearAttentionSpec spec = linear_pieces::LoadSpec(context);
    spec.log_decay = optional("log_decay");
    spec.state_scale = optional("state_scale");
    spec.chunk_starts = context->saved_data["chunk_starts"].toIntVector();
    const CausalState outcome = {saved[3], saved[4], optional("key_sum_norms")};
    const CausalForm form = FormOf(context->saved_data["is_tiled"].toBool(), saved[0]);
    const CausalGradients result =
        form.backward(gradients[0], saved[0], saved[1], saved[2], optional("keep"), spec, outcome);
    return {result.q, result.k, result.v, result.log_decay, at::Tensor(), at::Tensor()};
  }
};

// t [B, H, N, *] with `extra` rows of zeros in front.
at::Tensor ZerosInFront(const at::Tensor& t, int64_t extra) {
  return extra > 0 ? at::constant_pad_nd(t, {0, 0, extra, 0}) : t;
}

at::Tensor AnglesInFront(const at::Tensor& angles, int64_t extra) {
  return extra > 0 && angles.defined() ? at::constant_pad_nd(angles, {extra, 0}) : angles;
}

}  // namespace

at::Tensor CausalLinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& keep, const LinearAttentionSpec& spec) {
  const int64_t n = q.size(2), keys = k.size(2);
  LRA_CHECK(spec.chunk_starts.empty() || (n == keys && q.is_cpu()));
  if (n == keys) {
    return CausalLinearAttentionFunction::apply(q, k, v, IfDefined(spec.log_decay), IfDefined(keep),
                                                spec);
  }
  // The ends are aligned: what is missing in front is rows to drop, or masked keys.
  LRA_CHECK(!spec.log_decay.defined() && !spec.state_scale.defined());
  const int64_t more_keys = std::max<int64_t>(0, keys - n),
                more_rows = std::max<int64_t>(0, n - keys);
  LinearAttentionSpec padded = spec;
  padded.query_angles = AnglesInFront(spec.query_angles, more_keys);
  padded.key_angles = AnglesInFront(spec.key_angles, more_rows);
  at::Tensor kept = keep;
  if (more_rows > 0) {
    if (!kept.defined()) kept = at::ones({k.size(0), keys}, k.options().dtype(at::kBool));
    kept = at::constant_pad_nd(kept, {more_rows, 0}, false);
  }
  return CausalLinearAttentionFunction::apply(
             ZerosInFront(q, more_keys), ZerosInFront(k, more_rows), ZerosInFront(v, more_rows),
             std::nullopt, IfDefined(kept), padded)
      .narrow(2, more_keys, n);
}

}  // namespace lra
