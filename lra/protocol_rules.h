// What a run changes of its protocol's rules, and what follows from that.
#ifndef LRA_PROTOCOL_RULES_H_
#define LRA_PROTOCOL_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lra/config.h"
#include "lra/config.pb.h"

namespace lra {

// "fair" of "fair@1" and of "fair", and of a configuration under either; empty without a protocol.
absl::string_view ProtocolName(absl::string_view full_name);
absl::string_view ProtocolName(const ExperimentConfig& config);

// 1 of "fair@1"; 0 of a name without a version.
uint32_t ProtocolVersion(absl::string_view full_name);

// Warm-up steps W of a stage of `total_steps`: warmup_steps where it is set, otherwise
// warmup_fraction of the steps, rounded.
int64_t WarmupSteps(const ScheduleConfig& schedule, int64_t total_steps);

// The fields of `resolved` that differ from `rules`, which is what its protocol alone says: those
// that the protocol sets to another value, and those that it leaves unset and something other than
// a default set (pretraining, a search, a second spelling of the warm-up). Sizes are no rules.
// Empty without a protocol.
std::vector<ChangedRule> ChangedRules(const ExperimentConfig& rules,
                                      const ResolvedConfig& resolved);

// Whether an origin (ResolvedConfig.provenance) is a protocol or a preset, "preset small, task
// text", and whether it is what one of these says of one method, "protocol lra2020, image/local".
bool IsOfFragment(absl::string_view origin);
bool IsMethodRule(absl::string_view origin);

// Whether every protocol that has to do with the field sets it. Sizes are the presets'.
bool IsRuleOfProtocols(absl::string_view path);

// InvalidArgument with both numbers for a warm-up that outlasts the run, whose largest learning
// rate is then never reached. It passes where it is asked for: by the protocol, with warm-up and
// steps as the protocol sets them, or by a run file or --set that names schedule.warmup_steps.
absl::Status CheckWarmup(const ExperimentConfig& rules, const ResolvedConfig& resolved);

// A sentence, with both numbers, for an evaluation interval that is longer than the run, and for a
// budget (steps times batch) below the protocol's.
std::vector<std::string> BudgetWarnings(const ExperimentConfig& rules,
                                        const ResolvedConfig& resolved);

}  // namespace lra

#endif  // LRA_PROTOCOL_RULES_H_
