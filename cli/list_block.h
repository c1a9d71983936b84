// The part of `lra list` that is about blocks.
#ifndef LRA_CLI_LIST_BLOCK_H_
#define LRA_CLI_LIST_BLOCK_H_

#include <string>

#include "absl/status/statusor.h"
#include "lra/experiment.h"
#include "nlohmann/json_fwd.hpp"

namespace lra {

// Traits in words, options with what they allow, parameters and activations of a layer of `model`.
absl::StatusOr<nlohmann::ordered_json> BlockJson(const std::string& name,
                                                 const ExperimentChoice& model);

}  // namespace lra

#endif  // LRA_CLI_LIST_BLOCK_H_
