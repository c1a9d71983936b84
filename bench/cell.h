// One measurement: a request, measured by a process of its own.
#ifndef LRA_BENCH_CELL_H_
#define LRA_BENCH_CELL_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/bench.pb.h"
#include "bench/choices.h"
#include "bench/spread.h"

namespace lra {

// Measures a cell; what a method or the memory does not allow is an outcome, not an error. Tests
// hand in their own.
using CellRunner = std::function<BenchResult(const BenchRequest&)>;

// Runs `PROGRAM bench cell REQUEST`. A process that the system ends counts as out of memory.
CellRunner ChildRunner(const std::string& program);

// The machine's fingerprint and peaks, measured with so many threads and these kernels.
absl::StatusOr<BenchMachine> MeasureMachine(const CellRunner& run, int threads,
                                            const std::string& kernels);

// A message on one line of JSON, names as in the proto, and back. The error names `where`.
std::string ToJsonLine(const google::protobuf::Message& message);
absl::Status FromJsonLine(absl::string_view line, absl::string_view where,
                          google::protobuf::Message* message);

// "reformer (rounds=4), causal": the row of a request.
std::string MethodLabel(const BenchRequest& request);

double MedianSeconds(const BenchPasses& passes);

// "AMD EPYC ..., 2 threads, avx512 kernels, ...": what tables say about where they were measured.
std::string DescribeBenchMachine(const BenchMachine& machine);

}  // namespace lra

#endif  // LRA_BENCH_CELL_H_
