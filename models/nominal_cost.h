// How much work a run is, from its configuration alone: the same on every machine.
#ifndef LRA_MODELS_NOMINAL_COST_H_
#define LRA_MODELS_NOMINAL_COST_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lra/config.pb.h"

namespace lra {

// Multiplications and additions of all training steps on sequences of `tokens` tokens, of all
// trials of a search: those of the blocks' own maps and, where the attention's time grows with
// their square, of its weights. Good for comparing runs with each other, not for hours. The errors
// of DescribeBlock and DescribeAttention.
absl::StatusOr<double> NominalOperations(const ExperimentConfig& config, int64_t tokens);

}  // namespace lra

#endif  // LRA_MODELS_NOMINAL_COST_H_
