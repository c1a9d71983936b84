// The part of `lra check` that is about blocks.
#ifndef LRA_CLI_CHECK_BLOCK_H_
#define LRA_CLI_CHECK_BLOCK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/check_attention.h"
#include "nlohmann/json_fwd.hpp"

namespace lra {

// Runs the conformance suite and prints the report, or appends it to `json` where that is given.
// The number of broken promises.
absl::StatusOr<int> CheckAndPrintBlock(const std::string& name,
                                       const std::vector<std::string>& sets,
                                       const TrialFlags& trial, nlohmann::ordered_json* json);

}  // namespace lra

#endif  // LRA_CLI_CHECK_BLOCK_H_
