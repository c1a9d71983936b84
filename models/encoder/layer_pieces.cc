#include "models/encoder/layer_pieces.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>

namespace lra {
namespace {

bool UseTiled(const at::Tensor& x) {
  return x.device().is_cpu() && x.scalar_type() == at::kFloat && x.numel() > 0 &&
         !at::autocast::is_autocast_enabled(at::kCPU);
}

// Under autocast the product is one of bfloat16; what comes after it is of the type of x again.
at::Tensor Map(const at::Tensor& x, const LinearMap& map) {
  return at::linear(x, map.weight, map.bias.defined() ? std::optional(map.bias) : std::nullopt)
      .to(x.scalar_type());
}

}  // namespace

Qkv NormQkv(const at::Tensor& x, const NormQkvParameters& parameters) {
  const bool is_plain = parameters.key.weight.defined() && !parameters.returns_input;
  return is_plain && UseTiled(x) ? internal::NormQkvTiled(x, parameters)
                                 : internal::NormQkvGeneric(x, parameters);
}

at::Tensor OutputMlp(const at::Tensor& attended, const at::Tensor& residual,
                     const OutputMlpParameters& parameters, const OutputMlpDropout& dropout) {
  const bool is_tiled = parameters.output.weight.defined() && UseTiled(residual);
  return (is_tiled ? internal::OutputMlpTiled : internal::OutputMlpGeneric)(attended, residual,
                                                                            parameters, dropout);
}

Qkv ProjectQkv(const at::Tensor& y, const NormQkvParameters& parameters) {
  const auto split = [&](const LinearMap& map) {
    const at::Tensor mapped = map.weight.defined() ? Map(y, map) : y;
    return mapped.view({y.size(0), y.size(1), parameters.heads, -1}).transpose(1, 2);
  };
  Qkv qkv;
  qkv.q = split(parameters.query);
  qkv.k = parameters.key.weight.defined() ? split(parameters.key) : qkv.q;
  qkv.v = split(parameters.value);
  if (parameters.returns_input) qkv.x = y;
  return qkv;
}

at::Tensor ProjectOutput(const at::Tensor& attended, const OutputMlpParameters& parameters) {
  const at::Tensor joined =
      attended.transpose(1, 2).reshape({attended.size(0), attended.size(2), -1});
  return parameters.output.weight.defined() ? Map(joined, parameters.output) : joined;
}

at::Tensor Mlp(const at::Tensor& y, const OutputMlpParameters& parameters,
               const DropoutKey& hidden_dropout) {
  const char* kind = parameters.gelu == GeluKind::kTanh ? "tanh" : "none";
  const at::Tensor hidden = at::gelu(Map(y, parameters.hidden), kind);
  return Map(Dropout(hidden, hidden_dropout), parameters.projection);
}

namespace internal {

Qkv NormQkvGeneric(const at::Tensor& x, const NormQkvParameters& parameters) {
  return ProjectQkv(LayerNorm(x, parameters.norm), parameters);
}

at::Tensor OutputMlpGeneric(const at::Tensor& attended, const at::Tensor& residual,
                            const OutputMlpParameters& parameters,
                            const OutputMlpDropout& dropout) {
  const at::Tensor h =
      DropoutAdd(ProjectOutput(attended, parameters), residual, dropout.attention_output);
  return DropoutAdd(Mlp(LayerNorm(h, parameters.norm), parameters, dropout.hidden), h,
                    dropout.mlp_output);
}

}  // namespace internal
}  // namespace lra
