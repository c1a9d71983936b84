// Calls an attention from an encoder layer.
#ifndef LRA_MODELS_INTERFACE_ATTEND_H_
#define LRA_MODELS_INTERFACE_ATTEND_H_

#include <ATen/core/Tensor.h>

#include "models/interface/attention.h"

namespace lra {

// Calls Attend() with the type of its inputs, whatever autocast is set to: attentions use their own
// kernels, which do not support bfloat16.
at::Tensor AttendInFullPrecision(const Attention& attention, const AttentionInput& input);

}  // namespace lra

#endif  // LRA_MODELS_INTERFACE_ATTEND_H_
