#include "models/layers/layer_pieces.h"

#include "models/kernels/dispatch.h"
#include "models/layers/activation.h"

namespace lra {
namespace {

constexpr KernelNeeds kLayerNeeds = {.follows_autocast = true};

}  // namespace

Qkv NormQkv(const at::Tensor& x, const NormQkvParameters& parameters) {
  const bool is_plain = parameters.key.weight.defined() && !parameters.returns_input;
  const bool is_tiled = is_plain && DispatchKernel(kLayerNeeds, {x}) != KernelPath::kGeneric;
  return (is_tiled ? internal::NormQkvTiled : internal::NormQkvGeneric)(x, parameters);
}

at::Tensor OutputMlp(const at::Tensor& attended, const at::Tensor& residual,
                     const OutputMlpParameters& parameters, const OutputMlpDropout& dropout) {
  const bool is_tiled = DispatchKernel(kLayerNeeds, {residual}) != KernelPath::kGeneric;
  return (is_tiled ? internal::OutputMlpTiled : internal::OutputMlpGeneric)(attended, residual,
                                                                            parameters, dropout);
}

Qkv ProjectQkv(const at::Tensor& y, const NormQkvParameters& parameters) {
  const auto split = [&](const LinearMap& map) {
    const at::Tensor mapped = map.weight.defined() ? ApplyLinear(y, map) : y;
    return mapped.view({y.size(0), y.size(1), parameters.heads, -1}).transpose(1, 2);
  };
  Qkv qkv;
  qkv.q = split(parameters.query);
  qkv.k = parameters.key.weight.defined() ? split(parameters.key) : qkv.q;
  qkv.v = split(parameters.value);
  if (parameters.returns_input) qkv.x = y;
  return qkv;
}

at::Tensor ProjectOutput(const at::Tensor& attended, const LinearMap& output) {
  const at::Tensor joined =
      attended.transpose(1, 2).reshape({attended.size(0), attended.size(2), -1});
  return output.weight.defined() ? ApplyLinear(joined, output) : joined;
}

at::Tensor Mlp(const at::Tensor& y, const OutputMlpParameters& parameters,
               const DropoutKey& hidden_dropout) {
  const LinearMap &hidden = parameters.hidden, &projection = parameters.projection;
  const KernelOperands operands = {y, hidden.weight, hidden.bias, projection.weight,
                                   projection.bias};
  const bool is_tiled = AreTiled(y.size(0) * y.size(1)) &&
                        DispatchKernel(kLayerNeeds, operands) != KernelPath::kGeneric;
  return (is_tiled ? internal::MlpTiled : internal::MlpGeneric)(y, parameters, hidden_dropout);
}

namespace internal {

Qkv NormQkvGeneric(const at::Tensor& x, const NormQkvParameters& parameters) {
  return ProjectQkv(LayerNorm(x, parameters.norm), parameters);
}

at::Tensor MlpGeneric(const at::Tensor& y, const OutputMlpParameters& parameters,
                      const DropoutKey& hidden_dropout) {
  const at::Tensor hidden = Activate(ApplyLinear(y, parameters.hidden), parameters.activation);
  return ApplyLinear(Dropout(hidden, hidden_dropout), parameters.projection);
}

at::Tensor OutputMlpGeneric(const at::Tensor& attended, const at::Tensor& residual,
                            const OutputMlpParameters& parameters,
                            const OutputMlpDropout& dropout) {
  const at::Tensor h =
      DropoutAdd(ProjectOutput(attended, parameters.output), residual, dropout.attention_output);
  return DropoutAdd(MlpGeneric(LayerNorm(h, parameters.norm), parameters, dropout.hidden), h,
                    dropout.mlp_output);
}

}  // namespace internal
}  // namespace lra
