// Measures a cell in this process: what `lra bench cell` runs.
#ifndef LRA_BENCH_MEASURE_MEASURE_H_
#define LRA_BENCH_MEASURE_MEASURE_H_

#include "absl/status/status.h"
#include "bench/bench.pb.h"

namespace lra {

// Sets threads, kernels and the counting of tensors for the whole process, then measures. Call it
// once a process, before any tensor is made. What the method refuses and what does not fit into
// memory are outcomes.
BenchResult MeasureCell(const BenchRequest& request);

namespace internal {

// Each needs what MeasureCell sets; errors are those of the method's factory, and LibTorch's
// exceptions pass through.
absl::Status MeasureOperator(const BenchRequest& request, BenchResult* result);
absl::Status MeasureStep(const BenchRequest& request, BenchResult* result);
absl::Status MeasureStreaming(const BenchRequest& request, BenchResult* result);
absl::Status MeasureMachinePeaks(const BenchRequest& request, BenchResult* result);
absl::Status MeasurePieces(const BenchRequest& request, BenchResult* result);

}  // namespace internal
}  // namespace lra

#endif  // LRA_BENCH_MEASURE_MEASURE_H_
