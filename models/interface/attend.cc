#include "models/interface/attend.h"

#include "models/base/runtime.h"

namespace lra {

at::Tensor AttendWithoutAutocast(const Attention& attention, const AttentionInput& input) {
  const AutocastScope off(false, input.q.device().type());
  return attention.Attend(input);
}

}  // namespace lra
