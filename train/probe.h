// Single batches of a run, timed before its first step. Random numbers are counter-based, so a
// probe leaves no trace in them.
#ifndef LRA_TRAIN_PROBE_H_
#define LRA_TRAIN_PROBE_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "train/objective.h"
#include "train/run.h"

namespace lra {

// Batches, each with its examples.
using BatchPlan = std::vector<std::vector<int64_t>>;

// Batches of the first epoch by padded length; a short last batch is no measure of the others.
BatchPlan BatchesByLength(const Run& run, RandomDomain order);

// Seconds of forward and backward as in training; the gradients are thrown away.
absl::StatusOr<double> ProbeTraining(const Run& run, const Stage& stage,
                                     const std::vector<int64_t>& examples,
                                     int64_t micro_batch_examples);

// Seconds of a forward pass over examples of the split.
absl::StatusOr<double> ProbeForward(const Run& run, const SplitView& split,
                                    const std::vector<int64_t>& examples);

// Mean over batches at evenly spaced quantiles of the plan, which is sorted by length: of each the
// median of several probes, as many as a second allows. Cancelled after RequestStop().
absl::StatusOr<double> MeanProbe(
    const BatchPlan& by_length,
    absl::FunctionRef<absl::StatusOr<double>(const std::vector<int64_t>&)> probe);

}  // namespace lra

#endif  // LRA_TRAIN_PROBE_H_
