// Reading batches: how fast alone, and how long training waits for them.
#ifndef LRA_BENCH_MEASURE_LOADING_H_
#define LRA_BENCH_MEASURE_LOADING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "train/request.h"

namespace lra {

struct LoadingResult {
  int64_t batches = 0, tokens = 0, padded_tokens = 0;  // read alone; padded_tokens counts padding
  double reading_seconds = 0;
  int64_t steps = 0;  // of training, after two that are not counted
  double step_seconds = 0;
  double waiting_seconds = 0;  // of step_seconds, for batches
  double page_faults = 0;      // a step
};

// Reads so many training batches of the run's data with nothing else to do, then takes so many
// steps of the run's model on further ones. Nothing is written. The errors of the data, the view
// and the model.
absl::StatusOr<LoadingResult> MeasureLoading(const TrainRequest& request, int64_t batches,
                                             int64_t steps);

}  // namespace lra

#endif  // LRA_BENCH_MEASURE_LOADING_H_
