// Calls an attention from an encoder layer.
#ifndef LRA_MODELS_INTERFACE_ATTEND_H_
#define LRA_MODELS_INTERFACE_ATTEND_H_

#include <ATen/core/Tensor.h>

#include "absl/strings/string_view.h"
#include "models/interface/attention.h"

namespace lra {

// Throws a StatusError, which names the attention, unless its output is [B, H, N, Dv], of the type
// and on the device of the queries. Nothing behind it would see another shape: tokens would be read
// as heads, or memory as numbers. `what` is "oracle's output" where that is what it is.
void CheckOutput(const Attention& attention, const AttentionInput& input, const at::Tensor& output,
                 absl::string_view what = "output");

// Calls Attend() without autocast, then CheckOutput(): attentions use kernels of their own, which
// take tensors of float32 and multiply as ActiveProductType() says where they have tiles for it.
at::Tensor AttendWithoutAutocast(const Attention& attention, const AttentionInput& input);

// Extend() likewise: a stream remembers float32, and gives what AttendWithoutAutocast() gives.
at::Tensor ExtendWithoutAutocast(const Attention& attention, const AttentionInput& piece,
                                 AttentionState* state);

}  // namespace lra

#endif  // LRA_MODELS_INTERFACE_ATTEND_H_
