// The parts of `lra list` that are about attentions.
#ifndef LRA_CLI_LIST_ATTENTION_H_
#define LRA_CLI_LIST_ATTENTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace lra {

// The model that sizes and parameters are of.
struct ListedModel {
  std::string task, preset;
};

// Traits in words, options with what they allow, what a layer's attention owns.
absl::StatusOr<nlohmann::ordered_json> AttentionJson(const std::string& name,
                                                     const ListedModel& model);
void PrintAttention(const nlohmann::ordered_json& attention);

// Trained parameters of the whole model with each attention: name, parameters, difference to the
// transformer's and is_larger (by more than a tenth), or error.
absl::StatusOr<nlohmann::ordered_json> ParametersJson(const std::vector<std::string>& names,
                                                      const ListedModel& model);
void PrintParameters(const nlohmann::ordered_json& counts, const ListedModel& model);

}  // namespace lra

#endif  // LRA_CLI_LIST_ATTENTION_H_
