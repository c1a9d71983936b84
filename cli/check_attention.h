// The parts of `lra check` that are about attentions.
#ifndef LRA_CLI_CHECK_ATTENTION_H_
#define LRA_CLI_CHECK_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace lra {

// Where the attention runs, and the type that promises are tried in; empty = all.
struct TrialFlags {
  std::string device = "cpu", dtype;
  bool IsDefault() const { return device == "cpu" && dtype.empty(); }
};

// Runs the conformance suite and prints the report, or appends it to `json` where that is given.
// The number of broken promises.
absl::StatusOr<int> CheckAndPrintAttention(const std::string& name,
                                           const std::vector<std::string>& sets,
                                           const TrialFlags& trial, nlohmann::ordered_json* json);

struct AgainstFlags {
  std::string file;
  std::optional<double> tolerance;
  int64_t max_length_tokens = 0;
};
// Compares with a file of tensors; the number of tensors that disagree.
absl::StatusOr<int> CompareAndPrint(const std::string& name, const std::vector<std::string>& sets,
                                    const AgainstFlags& against, const TrialFlags& trial,
                                    nlohmann::ordered_json* json);

}  // namespace lra

#endif  // LRA_CLI_CHECK_ATTENTION_H_
