// The variant LRA2020 of performer: what google-research/long-range-arena ran on ListOps.
#ifndef LRA_MODELS_ATTENTION_PERFORMER_LRA2020_H_
#define LRA_MODELS_ATTENTION_PERFORMER_LRA2020_H_

#include <memory>

#include "models/interface/attention.h"

namespace lra {

// `projection` is w, [M, D].
std::unique_ptr<Attention> MakeLra2020Performer(at::Tensor projection);

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_PERFORMER_LRA2020_H_
