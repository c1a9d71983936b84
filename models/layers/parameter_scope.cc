#include "models/layers/parameter_scope.h"

#include "absl/strings/str_cat.h"

namespace lra {

at::Tensor ParameterScope::Make(absl::string_view name, const std::vector<int64_t>& shape,
                                Initializer initializer) const {
  return context_.parameters->Create(absl::StrCat(context_.scope, name), shape, initializer);
}

LinearMap ParameterScope::Linear(absl::string_view name, int64_t out, int64_t in,
                                 bool has_bias) const {
  LinearMap map;
  map.weight = Make(absl::StrCat(name, ".weight"), {out, in}, Initializer::XavierUniform());
  if (has_bias) map.bias = Make(absl::StrCat(name, ".bias"), {out}, Initializer::Bias(in));
  return map;
}

Norm ParameterScope::MakeNorm(absl::string_view name) const {
  return Norm(context_.model, absl::StrCat(context_.scope, name), context_.parameters);
}

}  // namespace lra
