// In which type the tiles of kernels multiply: a run's numerics.precision, as kernels see it.
#ifndef LRA_MODELS_BASE_PRODUCT_TYPE_H_
#define LRA_MODELS_BASE_PRODUCT_TYPE_H_

#include <c10/core/Device.h>

#include <string>

namespace lra {

enum class ProductType {
  kFloat32,
  kBfloat16,  // factors rounded to bfloat16, sums in float32
};

// Whether this process has tiles with bfloat16 products: its kernels (models/base/kernel_path.h)
// are those for AMX, or those for AVX-512 on a processor that has AVX512-BF16.
bool HasBfloat16Products();

// What records call the code of a run on this device. On the CPU: the path's name, and "+bfloat16"
// for a run in bfloat16 whose tiles have such products; in float32 the path of AMX is that of
// "avx512", and is called so. Elsewhere "cuda" where our own CUDA kernels are there for what they
// take (models/base/cuda_library.h), or "aten": LibTorch alone.
std::string KernelsName(at::Device device, bool is_bfloat16);

// Why a step on the CPU takes longer with products in bfloat16 than in float32, as measured
// (docs/performance.md#bfloat16); empty where it does not.
std::string WhyBfloat16IsSlow();

// The type in which kernels called by this thread multiply: kFloat32 where no scope says otherwise.
ProductType ActiveProductType();

// While it lives, kernels that this thread calls and that have tiles with bfloat16 products use
// them, if `wants_bfloat16` and HasBfloat16Products(); else float32. Tensors stay float32. A
// backward multiplies as its forward did, wherever it runs.
class ProductTypeScope {
 public:
  explicit ProductTypeScope(bool wants_bfloat16);
  ~ProductTypeScope();
  ProductTypeScope(const ProductTypeScope&) = delete;
  ProductTypeScope& operator=(const ProductTypeScope&) = delete;

 private:
  const ProductType previous_;
};

}  // namespace lra

#endif  // LRA_MODELS_BASE_PRODUCT_TYPE_H_
