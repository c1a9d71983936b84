// Calls an attention from an encoder layer.
#ifndef LRA_MODELS_INTERFACE_ATTEND_H_
#define LRA_MODELS_INTERFACE_ATTEND_H_

#include <ATen/core/Tensor.h>

#include "models/interface/attention.h"

namespace lra {

// Calls Attend() without autocast: attentions use kernels of their own, which take tensors of
// float32 and multiply as ActiveProductType() says where they have tiles for it.
at::Tensor AttendWithoutAutocast(const Attention& attention, const AttentionInput& input);

// Extend() likewise: a stream remembers float32, and gives what AttendWithoutAutocast() gives.
at::Tensor ExtendWithoutAutocast(const Attention& attention, const AttentionInput& piece,
                                 AttentionState* state);

}  // namespace lra

#endif  // LRA_MODELS_INTERFACE_ATTEND_H_
