// What ConfigBuilder::Build() asks of a configuration beside the ranges of its fields.
#ifndef LRA_CONFIG_CHECKS_H_
#define LRA_CONFIG_CHECKS_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "lra/config.pb.h"

namespace lra {

// InvalidArgument naming every field that must be set and is not. `idle_fields` mean nothing to the
// chosen block and may stay unset.
absl::Status CheckComplete(const ExperimentConfig& config,
                           const std::set<std::string>& idle_fields);

// InvalidArgument for fields that contradict each other: heads that do not divide qkv_width, an odd
// width with sinusoids, a search with fewer rates than trials.
absl::Status CheckAgreement(const ExperimentConfig& config);

}  // namespace lra

#endif  // LRA_CONFIG_CHECKS_H_
