// How an encoder layer calls its attention.
#ifndef LRA_MODELS_ATTEND_H_
#define LRA_MODELS_ATTEND_H_

#include <ATen/core/Tensor.h>

#include "models/attention/attention.h"

namespace lra {

// Attend() in the type of its inputs, whatever autocast says: attentions are kernels of their own,
// which know no bfloat16.
at::Tensor AttendInFullPrecision(const Attention& attention, const AttentionInput& input);

}  // namespace lra

#endif  // LRA_MODELS_ATTEND_H_
