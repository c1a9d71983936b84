// The same step in a Python's PyTorch: what `lra bench step --against PYTHON` runs.
#ifndef LRA_BENCH_YARDSTICK_H_
#define LRA_BENCH_YARDSTICK_H_

#include <string>

#include "absl/status/status.h"
#include "bench/bench.pb.h"
#include "lra/child.h"

namespace lra {

struct Yardstick {
  std::string python;
  bool is_compiled = false;  // torch.compile
  bool uses_fla = false;     // flash-linear-attention's kernels
};

// Whether the yardstick has this method: only some are written there.
bool YardstickKnows(const BenchRequest& request);

// Whether flash-linear-attention (github.com/fla-org) has it: causal linear attention on a GPU.
bool FlaKnows(const BenchRequest& request);

// The command: benchmarks/step/eager_step.py with the request's sizes in its environment, held to
// the instructions of the forced kernels.
ChildCommand YardstickCommand(const Yardstick& yardstick, const BenchRequest& request);

// The line that the script prints, as a result. InvalidArgument where it is no such line.
absl::Status ParseYardstickLine(const std::string& line, BenchResult* result);

BenchResult RunYardstick(const Yardstick& yardstick, const BenchRequest& request);

// NotFound or InvalidArgument, with what to do, where this Python cannot import torch.
absl::Status CheckPython(const std::string& python);

// Whether this Python has flash-linear-attention.
bool HasFla(const std::string& python);

}  // namespace lra

#endif  // LRA_BENCH_YARDSTICK_H_
