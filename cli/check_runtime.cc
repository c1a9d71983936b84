#include "cli/check_runtime.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/base/kernel_path.h"
#include "models/base/runtime.h"
#include "suite/state.h"
#include "train/step_graphs.h"

namespace lra {

absl::Status CheckRuntime(const std::vector<SuiteCell>& cells, const SuiteRunOptions& options,
                          bool are_here) {
  const std::string name = DeviceOf(options);
  LRA_RETURN_IF_ERROR(CheckDeviceName(name));
  const bool are_left = std::any_of(cells.begin(), cells.end(), [&](const SuiteCell& cell) {
    return IsLeft(ReadCellStatus(options.out, cell), options.retries_failed);
  });
  if (!are_here || !are_left) return absl::OkStatus();
  LRA_RETURN_IF_ERROR(ForceKernelPath(ValueOfFlag(options, "--kernels")));
  LRA_ASSIGN_OR_RETURN(const at::Device device, OpenDevice(name));
  const std::string graphs = ValueOfFlag(options, "--graphs");
  // CUDA has graphs. To make one here would take memory of the card while the suite lasts.
  if (device.is_cuda() && graphs == "on") return absl::OkStatus();
  return CheckGraphs(graphs, device);
}

absl::Status CheckPrecision(const std::vector<SuiteCell>& cells, const SuiteRunOptions& options) {
  const std::string name = DeviceOf(options);
  std::vector<std::string> refused;
  for (const SuiteCell& cell : cells) {
    if (cell.config.numerics().precision() == NumericsConfig::TF32 &&
        IsLeft(ReadCellStatus(options.out, cell), options.retries_failed))
      refused.push_back(cell.name);
  }
  if (refused.empty() || absl::StartsWith(name, "cuda")) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "numerics.precision: is TF32 in ", refused.size(), " of ", cells.size(), " runs (",
      refused[0], refused.size() > 1 ? ", ..." : "",
      "), which only CUDA computes in, and the device is ", name,
      "; use --device cuda. In FP32 or BF16 (numerics.precision) they are other runs"));
}

}  // namespace lra
