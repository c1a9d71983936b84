// performer's variant LRA2020: what google-research/long-range-arena ran on ListOps.
#ifndef LRA_MODELS_ATTENTION_PERFORMER_LRA2020_H_
#define LRA_MODELS_ATTENTION_PERFORMER_LRA2020_H_

#include <memory>

#include "models/attention/attention.h"

namespace lra {

// projection: w, [M, D].
std::unique_ptr<Attention> MakeLra2020Performer(at::Tensor projection);

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_PERFORMER_LRA2020_H_
