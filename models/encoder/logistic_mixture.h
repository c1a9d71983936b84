// A head for the values of pixels: a mixture of logistic distributions that are cut into 256 values
// (Salimans et al. 2017, "PixelCNN++", eq. 2), as Katharopoulos et al. 2020, section 4.2 have it.
#ifndef LRA_MODELS_ENCODER_LOGISTIC_MIXTURE_H_
#define LRA_MODELS_ENCODER_LOGISTIC_MIXTURE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/base/parameters.h"
#include "models/kernels/linear_map.h"

namespace lra {

// The values 0 .. 255 stand at y = 2 v / 255 - 1, each between edges at y -+ 1 / 255, the outermost
// open. outputs [G, 3 K]: K logits of the weights, K means m, K log scales s, which count as at
// least -7 and have no gradient below it:
//   P(v) = sum_k w_k (sigmoid((y + 1/255 - m_k) / e^s_k) - sigmoid((y - 1/255 - m_k) / e^s_k))
// -> log P [G, 256], in the type of outputs. Exact where the difference cancels: no
// probability is made up. Rows are taken a few at a time, and made again for the backward.
// Differentiable once.
at::Tensor LogisticMixture(const at::Tensor& outputs);

class MixtureHead {
 public:
  // Creates head.mixture.weight [3 K, E], zeros, and head.mixture.bias [3 K]: equal weights, means
  // spread over [-1, 1], log scales of -2.
  MixtureHead(int64_t width, int64_t components, ParameterStore* parameters);

  // x [G, E] -> log P [G, 256] float32.
  at::Tensor Forward(const at::Tensor& x) const;

 private:
  LinearMap map_;
};

namespace internal {

// LogisticMixture() of all rows at once, by autograd.
at::Tensor LogisticMixtureAtOnce(const at::Tensor& outputs);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_ENCODER_LOGISTIC_MIXTURE_H_
