// Makes an attention that a configuration names.
#ifndef LRA_MODELS_INTERFACE_CREATE_H_
#define LRA_MODELS_INTERFACE_CREATE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/interface/attention.h"

namespace lra {

// The errors of the factory, and what it throws, which names the attention; InvalidArgument for an
// unknown name, FailedPrecondition for an attention that lives in Python, outside of lra.train
// (lra/python_attention.h).
absl::StatusOr<std::unique_ptr<Attention>> CreateAttention(absl::string_view name,
                                                           const AttentionContext& context);

}  // namespace lra

#endif  // LRA_MODELS_INTERFACE_CREATE_H_
