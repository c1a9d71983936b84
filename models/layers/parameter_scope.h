// Parameters of one block, created under one prefix.
#ifndef LRA_MODELS_LAYERS_PARAMETER_SCOPE_H_
#define LRA_MODELS_LAYERS_PARAMETER_SCOPE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "models/interface/block.h"
#include "models/layers/layer_pieces.h"
#include "models/layers/norm.h"

namespace lra {

class ParameterScope {
 public:
  explicit ParameterScope(const BlockContext& context) : context_(context) {}

  // <prefix><name>, of this shape.
  at::Tensor Make(absl::string_view name, const std::vector<int64_t>& shape,
                  Initializer initializer) const;
  // <name>.weight [out, in], Xavier-uniform, and <name>.bias [out], 0, unless model.initial_values
  // is PYTORCH. (The official MLP's biases are normal with deviation 1e-6.)
  LinearMap Linear(absl::string_view name, int64_t out, int64_t in, bool has_bias) const;
  Norm MakeNorm(absl::string_view name) const;

 private:
  const BlockContext& context_;
};

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_PARAMETER_SCOPE_H_
