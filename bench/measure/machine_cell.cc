// What the machine reaches with LibTorch's own operations: the measure of what is possible.
#include <ATen/Config.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/Version.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <torch/version.h>

#include <algorithm>

#include "bench/measure/measure.h"
#include "bench/measure/timing.h"
#include "eval/machine.h"
#include "models/base/kernel_path.h"

namespace lra::internal {
namespace {

constexpr int64_t kMatrix = 1024;
constexpr int64_t kCopiedFloats = int64_t{32} << 20;
constexpr int kTrials = 9;

template <class Function>
double LeastSeconds(Function function) {
  function();
  double least = SecondsOf(function);
  for (int i = 1; i < kTrials; ++i) least = std::min(least, SecondsOf(function));
  return least;
}

double ProductsPerSecond(at::ScalarType type) {
  const at::Tensor a = at::randn({kMatrix, kMatrix}).to(type);
  const at::Tensor b = at::randn({kMatrix, kMatrix}).to(type);
  at::Tensor c = a.clone();
  const double operations = 2.0 * kMatrix * kMatrix * kMatrix;
  return operations / LeastSeconds([&] { at::mm_out(c, a, b); });
}

double CopiedBytesPerSecond() {
  const at::Tensor from = at::ones({kCopiedFloats});
  at::Tensor to = from.clone();
  return 2.0 * kCopiedFloats * sizeof(float) / LeastSeconds([&] { to.copy_(from); });
}

}  // namespace

absl::Status MeasureMachinePeaks(const BenchRequest&, BenchResult* result) {
  BenchMachine* machine = result->mutable_machine();
  *machine->mutable_machine() = DescribeMachine();
  machine->mutable_machine()->set_cpu_capability(at::get_cpu_capability());
  machine->mutable_machine()->set_kernels(KernelPathName(ActiveKernelPath()));
  *machine->mutable_versions() = RunVersions(TORCH_VERSION);
  machine->set_threads(at::get_num_threads());
#ifdef NDEBUG
  machine->set_build("optimised");
#else
  machine->set_build("not optimised");
#endif
  machine->set_gemm_operations_per_second(ProductsPerSecond(at::kFloat));
  machine->set_gemm_bfloat16_operations_per_second(ProductsPerSecond(at::kBFloat16));
  machine->set_copy_bytes_per_second(CopiedBytesPerSecond());
  result->set_outcome(BenchResult::MEASURED);
  return absl::OkStatus();
}

}  // namespace lra::internal
