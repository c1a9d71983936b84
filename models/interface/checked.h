// For callers with input of unknown origin; the input that the encoder makes is always right.
#ifndef LRA_MODELS_INTERFACE_CHECKED_H_
#define LRA_MODELS_INTERFACE_CHECKED_H_

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/interface/attention.h"

namespace lra {

// InvalidArgument that names the field, its value and what would be right: shapes that do not fit
// each other or what the attention was made for (context), types and devices that differ, more
// tokens than a length-bound method allows, a form that the method does not have.
absl::Status CheckInput(const Attention& attention, const AttentionContext& context,
                        const AttentionInput& input);

// Calls CheckInput(), then Attend(), then CheckOutput(); exceptions become errors.
absl::StatusOr<at::Tensor> CheckedAttend(const Attention& attention,
                                         const AttentionContext& context,
                                         const AttentionInput& input);

}  // namespace lra

#endif  // LRA_MODELS_INTERFACE_CHECKED_H_
