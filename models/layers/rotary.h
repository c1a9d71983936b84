// Rotary positions (Su et al. 2021, "RoFormer", eqs. 13 to 15 and 34): channels 2c and 2c + 1 of a
// query or key at position p are turned by the angle p 10000^(-2c / D): q_i . k_j depends on the
// places of i and j by i - j alone.
#ifndef LRA_MODELS_LAYERS_ROTARY_H_
#define LRA_MODELS_LAYERS_ROTARY_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/base/host_copy.h"

namespace lra {

class RotaryPositions {
 public:
  // head_width must be even.
  RotaryPositions(int64_t max_length_tokens, int64_t head_width);

  // e^(i angle) for TurnByPositions() of tensors like x [B, H, T, D] whose first token stands at
  // position `first`: [T, D / 2], of the precision and on the device of x. Throws c10::Error beyond
  // the longest sequence.
  at::Tensor Turns(const at::Tensor& x, int64_t first) const;

 private:
  DeviceConstant turns_;  // [max_length_tokens, D / 2] complex128
};

// x [B, H, T, D] turned; float32, or float64 where x is.
at::Tensor TurnByPositions(const at::Tensor& x, const at::Tensor& turns);

// The same from its definition, differentiated by autograd, in the type of x.
at::Tensor RotaryDefinition(const at::Tensor& x, int64_t first);

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_ROTARY_H_
