// The parts of `lra list` that are about attentions.
#ifndef LRA_CLI_LIST_ATTENTION_H_
#define LRA_CLI_LIST_ATTENTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lra/experiment.h"
#include "lra/task_spec.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace lra {

// Traits in words, options with what they allow, what a layer's attention owns. `model`: task and
// preset of the model that sizes are of.
absl::StatusOr<nlohmann::ordered_json> AttentionJson(const std::string& name,
                                                     ExperimentChoice model);
void PrintAttention(const nlohmann::ordered_json& attention);

// Trained parameters of the whole model with each attention: name, parameters, difference to the
// transformer's and is_larger (by more than a tenth), or error.
absl::StatusOr<nlohmann::ordered_json> ParametersJson(const std::vector<std::string>& names,
                                                      const ExperimentChoice& model,
                                                      const TaskSpec& spec);
void PrintParameters(const nlohmann::ordered_json& counts, const ExperimentChoice& model);

}  // namespace lra

#endif  // LRA_CLI_LIST_ATTENTION_H_
