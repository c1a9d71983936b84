#include "models/kernels/softmax_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include "lra/check.h"
#include "models/base/optional_tensor.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/saved_dropout_key.h"

namespace lra {
namespace {

using internal::SoftmaxGradients;
using internal::SoftmaxInput;
using internal::SoftmaxState;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Rows are queries. One query alone, as in a stream, would leave 47 of 48 lanes empty: a plain
// product is faster.
constexpr KernelNeeds kSoftmaxNeeds = {.fewest_rows = 8};

class SoftmaxAttentionFunction : public torch::autograd::Function<SoftmaxAttentionFunction> {
 public:
  static constexpr size_t kArguments = 8;  // of forward, whose gradients backward returns

  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const std::optional<at::Tensor>& bias,
                            const std::optional<at::Tensor>& keep,
                            const std::optional<at::Tensor>& slopes, const DropoutKey& dropout,
                            bool causal) {
    const at::Tensor none;
    const SoftmaxInput input = {
        q, k, v, keep.value_or(none), bias.value_or(none), slopes.value_or(none), dropout, causal};
    const bool is_tiled =
        DispatchKernel(kSoftmaxNeeds, {q, k, v, input.bias}, q.size(2)) != KernelPath::kGeneric;
    const SoftmaxState state =
        (is_tiled ? internal::SoftmaxForwardTiled : internal::SoftmaxForwardGeneric)(input);
    context->save_for_backward({q, k, v, state.output, state.log_sum, input.bias});
    auto& saved = context->saved_data;
    saved["keep"] = keep;
    saved["slopes"] = slopes;
    saved["causal"] = causal;
    saved["is_tiled"] = is_tiled;
    saved["products"] = static_cast<int64_t>(state.products);
    SaveDropoutKey("dropout", dropout, &saved);
    return state.output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list tensors = context->get_saved_variables();
    auto& saved = context->saved_data;
    const auto saved_tensor = [&](const char* name) {
      return saved[name].toOptional<at::Tensor>().value_or(at::Tensor());
    };
    const SoftmaxInput input = {tensors[0],
                                tensors[1],
                                tensors[2],
                                saved_tensor("keep"),
                                tensors[5],
                                saved_tensor("slopes"),
                                LoadDropoutKey("dropout", &saved),
                                saved["causal"].toBool()};
    const SoftmaxState state = {tensors[3], tensors[4],
                                static_cast<ProductType>(saved["products"].toInt())};
    const bool is_tiled = saved["is_tiled"].toBool();
    const SoftmaxGradients result =
        (is_tiled ? internal::SoftmaxBackwardTiled : internal::SoftmaxBackwardGeneric)(
            gradients[0], input, state);
    variable_list all = {result.q, result.k, result.v, result.bias};
    all.resize(kArguments);
    return all;
  }
};

}  // namespace

at::Tensor SoftmaxAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep, const DropoutKey& weight_dropout, bool causal,
                            const at::Tensor& bias, const at::Tensor& distance_slopes) {
  LRA_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 && k.size(2) == v.size(2) &&
            q.size(3) == k.size(3));
  LRA_CHECK(q.size(0) == k.size(0) && q.size(1) == k.size(1) && k.size(0) == v.size(0) &&
            k.size(1) == v.size(1))
      << "q is " << q.sizes() << ", k is " << k.sizes() << ", v is " << v.sizes();
  LRA_CHECK(HasIdsOf(weight_dropout, q.size(0)));
  LRA_CHECK(!bias.defined() || (bias.dim() == 3 && bias.size(0) == q.size(1) &&
                                bias.size(1) == q.size(2) && bias.size(2) == k.size(2)));
  LRA_CHECK(!distance_slopes.defined() ||
            (distance_slopes.dim() == 1 && distance_slopes.size(0) == q.size(1)));
  if (q.is_cuda()) {
    const SoftmaxInput input = {q, k, v, keep, bias, distance_slopes, weight_dropout, causal};
    if (internal::CanFuseSoftmax(input)) return internal::SoftmaxFused(input);
  }
  return SoftmaxAttentionFunction::apply(q, k, v, IfDefined(bias), IfDefined(keep),
                                         IfDefined(distance_slopes), weight_dropout, causal);
}

}  // namespace lra
