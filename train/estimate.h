// Time and memory of a run, measured before its first step on a few of its own batches. Nothing is
// updated: random numbers are counter-based, so a probe leaves no trace.
#ifndef LRA_TRAIN_ESTIMATE_H_
#define LRA_TRAIN_ESTIMATE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "train/run.h"

namespace lra {

struct RunEstimate {
  int64_t steps = 0;
  int64_t parameters = 0;
  double step_seconds = 0;
  // Steps, validations and the final test together.
  double total_seconds = 0;
  // After the longest batch.
  int64_t peak_memory_bytes = 0;
  int64_t available_memory_bytes = 0;
};

// Runs forward and backward on the longest batch of the first epoch (memory, warm-up), then on
// batches at the quartiles of padded length (time).
absl::StatusOr<RunEstimate> EstimateRun(const Run& run);

// "estimate: 150 steps of 0.45 s, ..."
std::string DescribeEstimate(const RunEstimate& estimate);

}  // namespace lra

#endif  // LRA_TRAIN_ESTIMATE_H_
