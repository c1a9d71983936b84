// What the machine reaches, with LibTorch's own operations or our tiles: the measure of what is
// possible.
#include <ATen/Config.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/Version.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <torch/version.h>

#include <algorithm>

#include "bench/measure/measure.h"
#include "bench/measure/timing.h"
#include "eval/machine.h"
#include "models/base/kernel_path.h"
#include "models/base/product_type.h"
#include "models/kernels/gemm.h"

namespace lra::internal {
namespace {

constexpr int64_t kMatrix = 1024;
constexpr int64_t kCopiedFloats = int64_t{32} << 20;
constexpr int kTrials = 9;
// Where a product has no fast form (bfloat16 on processors without it), one takes seconds.
constexpr double kTrialsSeconds = 1.0;

template <class Function>
double LeastSeconds(Function function) {
  double spent = SecondsOf(function);  // the first call makes what is made once
  if (spent >= kTrialsSeconds) return spent;
  double least = SecondsOf(function);
  spent += least;
  for (int i = 1; i < kTrials && spent < kTrialsSeconds; ++i) {
    const double seconds = SecondsOf(function);
    least = std::min(least, seconds);
    spent += seconds;
  }
  return least;
}

constexpr double kProductOperations = 2.0 * kMatrix * kMatrix * kMatrix;

double LibTorchProductsPerSecond(at::ScalarType type) {
  const at::Tensor a = at::randn({kMatrix, kMatrix}).to(type);
  const at::Tensor b = at::randn({kMatrix, kMatrix}).to(type);
  at::Tensor c = a.clone();
  return kProductOperations / LeastSeconds([&] { at::mm_out(c, a, b); });
}

// Each thread has a tile of rows that fits into its cache.
double TileProductsPerSecond(ProductType type) {
  constexpr int64_t kTileRows = 128;
  const at::Tensor a = at::randn({kMatrix, kMatrix}), b = at::randn({kMatrix, kMatrix});
  at::Tensor c = at::empty_like(a);
  const float *left = a.const_data_ptr<float>(), *right = b.const_data_ptr<float>();
  float* out = c.mutable_data_ptr<float>();
  return kProductOperations / LeastSeconds([&] {
           at::parallel_for(0, kMatrix / kTileRows, 1, [&](int64_t begin, int64_t end) {
             for (int64_t row = begin * kTileRows; row < end * kTileRows; row += kTileRows) {
               Gemm(kTileRows, kMatrix, kMatrix, {left + row * kMatrix, kMatrix}, {right, kMatrix},
                    0.0f, out + row * kMatrix, kMatrix, type);
             }
           });
         });
}

double ProductsPerSecond() {
  return std::max(LibTorchProductsPerSecond(at::kFloat),
                  TileProductsPerSecond(ProductType::kFloat32));
}

double Bfloat16ProductsPerSecond() {
  const double of_libtorch = LibTorchProductsPerSecond(at::kBFloat16);
  if (!HasBfloat16Products()) return of_libtorch;
  return std::max(of_libtorch, TileProductsPerSecond(ProductType::kBfloat16));
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
  machine->set_gemm_operations_per_second(ProductsPerSecond());
  machine->set_gemm_bfloat16_operations_per_second(Bfloat16ProductsPerSecond());
  machine->set_copy_bytes_per_second(CopiedBytesPerSecond());
  result->set_outcome(BenchResult::MEASURED);
  return absl::OkStatus();
}

}  // namespace lra::internal
