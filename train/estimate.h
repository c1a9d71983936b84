// Time and memory of a stage of a run, measured before its first step with its own objective on a
// few of its own batches. Nothing is updated: random numbers are counter-based, so a probe leaves
// no trace.
#ifndef LRA_TRAIN_ESTIMATE_H_
#define LRA_TRAIN_ESTIMATE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "train/objective.h"
#include "train/run.h"

namespace lra {

struct StageEstimate {
  int64_t steps = 0;
  int64_t parameters = 0;
  // Parameters of the same configuration with softmax attention; 0 = not compared.
  int64_t transformer_parameters = 0;
  double step_seconds = 0;
  // Objective::is_tested.
  bool is_tested = false;
  // Batches that go forward in validations and the final scoring.
  double forward_batches = 0;
  // Steps and validations, and the final test of what is tested.
  double total_seconds = 0;
  // After the longest batch.
  int64_t peak_memory_bytes = 0;
  int64_t available_memory_bytes = 0;
};

// Runs forward and backward on the longest batch of the first epoch (memory, warm-up), then on
// batches at the quartiles of padded length (time).
absl::StatusOr<StageEstimate> EstimateStage(const Run& run, const Stage& stage);

// "estimate: 150 steps of 0.45 s, ..."
std::string DescribeEstimate(const StageEstimate& estimate);

// How many examples go through the model at once.
struct MicroBatch {
  int64_t examples = 0;
  int64_t batch_examples = 0;
  // Largest sum of LibTorch's live allocations in a step with the longest examples, beyond weights
  // and moments; 0 = not measured.
  int64_t step_bytes = 0;
  int64_t budget_bytes = 0;  // 0 = unknown
};

// The number that was asked for (micro_batch_examples); else, on resuming without a budget, the one
// that the stage began with, so that it goes on bit for bit; else the largest whose step fits into
// the budget (memory_budget_bytes; without one 80 % of the memory that is free), measured with the
// longest examples. InvalidArgument when one example exceeds a budget that was asked for, and when
// BATCH norm would be cut into parts.
absl::StatusOr<MicroBatch> ChooseMicroBatch(const Run& run, const Stage& stage);

// "memory: 8 of 32 examples at once, 4 passes a step, ..."
std::string DescribeMicroBatch(const MicroBatch& choice);

// Chooses the stage's micro batch, and unless quiet says so on standard error, with an estimate
// before the stage's first step. The errors of ChooseMicroBatch and EstimateStage.
absl::Status PlanStage(const Run& run, Stage* stage);

}  // namespace lra

#endif  // LRA_TRAIN_ESTIMATE_H_
