// What a step asks a device for, kernel by kernel, through LibTorch's profiler.
#ifndef LRA_BENCH_MEASURE_KERNELS_CELL_H_
#define LRA_BENCH_MEASURE_KERNELS_CELL_H_

#include "absl/status/status.h"
#include "bench/bench.pb.h"
#include "bench/measure/step_model.h"

namespace lra::internal {

// Some training steps of a model on a device. On CUDA these are the card's own times of kernels,
// copies and fills; on the fake device, which has none, those of operators on the host. Unavailable
// where the profiler sees nothing. LibTorch's exceptions pass through.
absl::Status MeasureKernels(StepModel* model, BenchDeviceProfile* profile);

}  // namespace lra::internal

#endif  // LRA_BENCH_MEASURE_KERNELS_CELL_H_
