#include "models/interface/attention.h"

#include "lra/check.h"

namespace lra {

std::string NoCausalForm(const Traits& traits) {
  const std::string words = "no causal form";
  return traits.causal_reason.empty() ? words : words + ": " + traits.causal_reason;
}

AttentionState Attention::InitState(int64_t, const at::TensorOptions&) const {
  LRA_CHECK(traits().supports_streaming);  // an attention that declares streaming overrides this
  return {};
}

at::Tensor Attention::Extend(const AttentionInput&, AttentionState*) const {
  LRA_CHECK(traits().supports_streaming);
  return {};
}

}  // namespace lra
