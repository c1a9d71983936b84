// Whether the runs of a suite can compute as their flags say, before any of them is measured or
// trained: each that is left would refuse it for itself, and be noted as failed.
#ifndef LRA_CLI_CHECK_RUNTIME_H_
#define LRA_CLI_CHECK_RUNTIME_H_

#include <vector>

#include "absl/status/status.h"
#include "suite/run_suite.h"

namespace lra {

// InvalidArgument for a --device that is none. Where runs are left, to be trained on this machine
// (`are_here`), also for a device, --kernels, $LRA_KERNELS or --graphs that it does not have.
absl::Status CheckRuntime(const std::vector<SuiteCell>& cells, const SuiteRunOptions& options,
                          bool are_here);

// InvalidArgument where runs that are left want TF32 and the device is not CUDA.
absl::Status CheckPrecision(const std::vector<SuiteCell>& cells, const SuiteRunOptions& options);

}  // namespace lra

#endif  // LRA_CLI_CHECK_RUNTIME_H_
