// What a run will take, measured on a few of its own batches with its own model, without training
// it: `lra train --dry-run`.
#ifndef LRA_TRAIN_RUN_ESTIMATE_H_
#define LRA_TRAIN_RUN_ESTIMATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "train/request.h"
#include "train/run_estimate.pb.h"

namespace lra {

// Takes real steps and saves a real checkpoint in a folder beside the run's, which is removed; the
// run's own folder is neither read nor made. The last checkpoint is scored beside the selected one
// where these differ, which is counted as half of it; an early stop is not foreseen. The errors of
// OpenRun and PlanStage; Cancelled after RequestStop().
absl::StatusOr<RunEstimate> EstimateRun(const TrainRequest& request);

// Some lines: steps, validations, memory, disk and the sum.
std::string DescribeRunEstimate(const RunEstimate& estimate);

}  // namespace lra

#endif  // LRA_TRAIN_RUN_ESTIMATE_H_
