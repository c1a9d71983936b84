#include "models/interface/attend.h"

#include "models/base/runtime.h"

namespace lra {

at::Tensor AttendWithoutAutocast(const Attention& attention, const AttentionInput& input) {
  const AutocastScope off(false, input.q.device().type());
  return attention.Attend(input);
}

at::Tensor ExtendWithoutAutocast(const Attention& attention, const AttentionInput& piece,
                                 AttentionState* state) {
  const AutocastScope off(false, piece.q.device().type());
  return attention.Extend(piece, state);
}

}  // namespace lra
