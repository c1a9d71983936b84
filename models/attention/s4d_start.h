// Where the diagonal state spaces of `s4d` start.
#ifndef LRA_MODELS_ATTENTION_S4D_START_H_
#define LRA_MODELS_ATTENTION_S4D_START_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/attention/s4d.pb.h"

namespace lra {

struct StateSpaceStart {
  at::Tensor frequency;  // the imaginary parts of A, >= 0: [P]
  at::Tensor input;      // B: complex128 [P]
};

// The start of `pairs` conjugate pairs of states. Sources: S4D-Lin and S4D-Inv: Gu et al. 2022
// (S4D), section 4.3; LegS: Gu et al. 2020 (HiPPO), theorem 2, made normal as in Gu et al. 2022
// (S4), theorem 1. B is as in state-spaces/s4: twice what the S4D paper derives for LegS, and its
// imaginary part is cut off.
StateSpaceStart StartOf(S4dOptions::Init init, int64_t pairs);

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_S4D_START_H_
