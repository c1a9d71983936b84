// What a run began from, where that is another run (docs/training.md).
#ifndef LRA_EVAL_STARTING_RUN_H_
#define LRA_EVAL_STARTING_RUN_H_

#include <string>

#include "eval/run_record.pb.h"

namespace lra {

inline constexpr char kAnotherEncoder[] = "another run's encoder";  // `lra train --init-from`
inline constexpr char kAnotherWeights[] = "another run's weights";  // `lra train --from`
// `lra train --init-from 'RUN-s{seed}'`
inline constexpr char kOwnEncoder[] = "another run's encoder, each seed its own";

// One of these; empty of a run that began from initial weights.
inline std::string StartingRunOf(const RunRecord& record) {
  const ExperimentConfig& config = record.config();
  if (config.has_encoder_recipe()) return kOwnEncoder;
  if (config.has_encoder_weights_sha256()) return kAnotherEncoder;
  return config.has_start_weights_sha256() ? kAnotherWeights : "";
}

}  // namespace lra

#endif  // LRA_EVAL_STARTING_RUN_H_
