#include "models/encoder/layer_pieces.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

namespace lra {
namespace {

bool UseTiled(const at::Tensor& x) {
  return x.device().is_cpu() && x.scalar_type() == at::kFloat && x.numel() > 0 &&
         !at::autocast::is_autocast_enabled(at::kCPU);
}

at::Tensor Norm(const at::Tensor& x, const NormMap& norm) {
  return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, norm.epsilon);
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

namespace internal {

Qkv NormQkvGeneric(const at::Tensor& x, const NormQkvParameters& parameters) {
  const at::Tensor y = Norm(x, parameters.norm);
  const auto split = [&](const LinearMap& map) {
    const at::Tensor mapped = map.weight.defined() ? Map(y, map) : y;
    return mapped.view({x.size(0), x.size(1), parameters.heads, -1}).transpose(1, 2);
  };
  Qkv qkv;
  qkv.q = split(parameters.query);
  qkv.k = parameters.key.weight.defined() ? split(parameters.key) : qkv.q;
  qkv.v = split(parameters.value);
  if (parameters.returns_input) qkv.x = y;
  return qkv;
}

at::Tensor OutputMlpGeneric(const at::Tensor& attended, const at::Tensor& residual,
                            const OutputMlpParameters& parameters,
                            const OutputMlpDropout& dropout) {
  const at::Tensor joined =
      attended.transpose(1, 2).reshape({residual.size(0), residual.size(1), -1});
  const at::Tensor mapped =
      parameters.output.weight.defined() ? Map(joined, parameters.output) : joined;
  const at::Tensor h = DropoutAdd(mapped, residual, dropout.attention_output);
  const char* kind = parameters.gelu == GeluKind::kTanh ? "tanh" : "none";
  const at::Tensor hidden = at::gelu(Map(Norm(h, parameters.norm), parameters.hidden), kind);
  return DropoutAdd(Map(Dropout(hidden, dropout.hidden), parameters.projection), h,
                    dropout.mlp_output);
}

}  // namespace internal
}  // namespace lra
