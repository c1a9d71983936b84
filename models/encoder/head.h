// The head, from pooled vectors to logits.
#ifndef LRA_MODELS_ENCODER_HEAD_H_
#define LRA_MODELS_ENCODER_HEAD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "lra/config.pb.h"
#include "models/base/parameters.h"
#include "models/layers/layer_pieces.h"

namespace lra {

// Features go through hidden layers, each followed by model.head_activation, to logits [B, C].
// Weights are LeCun normal, biases 0, unless model.initial_values is PYTORCH.
//   single inputs: features a; Dense(head_width).
//   pairs, CONCATENATION: [a, b]; Dense(head_width), Dense(head_width / 2): the program of Tay et
//     al. 2021 (lra_benchmarks/models/layers/common_layers.py, classifier_head_dual).
//   pairs, INTERACTION: [a, b, a * b, a - b]; Dense(head_width): that paper, A.1.3.
// With model.head LINEAR there are no hidden layers. Creates head.hidden.*, head.hidden2.*,
// head.logits.*.
class Head {
 public:
  Head(const ModelConfig& config, bool is_pair, int64_t classes, ParameterStore* parameters);

  // a [B, E]; b [B, E] belongs to the second texts and is undefined without pairs.
  at::Tensor Forward(const at::Tensor& a, const at::Tensor& b) const;

 private:
  at::Tensor Features(const at::Tensor& a, const at::Tensor& b) const;

  const bool has_products_;  // whether the head is INTERACTION
  const bool is_gelu_;
  std::vector<LinearMap> hidden_;
  LinearMap logits_;
};

}  // namespace lra

#endif  // LRA_MODELS_ENCODER_HEAD_H_
