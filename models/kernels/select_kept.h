// Masks select, they never multiply: a NaN in a padded position must not get through.
#ifndef LRA_MODELS_KERNELS_SELECT_KEPT_H_
#define LRA_MODELS_KERNELS_SELECT_KEPT_H_

#include <ATen/core/Tensor.h>

namespace lra {

enum class KeptLayout {
  kContiguous,
  kAsGiven,  // the strides of t
};

// Returns t [B, H, N, *] with zeros at masked tokens, where keep [B, N] is false. What t holds
// there has no effect, on gradients neither. Without keep it returns t itself.
at::Tensor SelectKept(const at::Tensor& t, const at::Tensor& keep,
                      KeptLayout layout = KeptLayout::kContiguous);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_SELECT_KEPT_H_
