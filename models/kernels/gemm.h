// Matrix products on plain row-major memory, for kernels that work on tiles.
#ifndef LRA_MODELS_KERNELS_GEMM_H_
#define LRA_MODELS_KERNELS_GEMM_H_

#include <ATen/core/Tensor.h>
#include <c10/util/BFloat16.h>

#include <cstdint>

#include "models/base/product_type.h"

namespace lra {

// A row-major block whose rows start `stride` floats apart; if `transposed`, it is read as its
// transpose.
struct MatrixView {
  const float* data;
  int64_t stride;
  bool transposed = false;
};

// out [m, n] = op(a) [m, k] op(b) [k, n] + beta * out, where beta is 0 or 1, k at least 1. It runs
// on the calling thread. With bfloat16 products, a and b are rounded to bfloat16 and sums are
// float32; this needs HasBfloat16Products(). Results depend on the shapes only, not on where the
// matrices are.
void Gemm(int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b, float beta, float* out,
          int64_t out_stride, ProductType type = ProductType::kFloat32);

// b [k, n] for many products: laid out once, as Gemm() does for itself in each of them, for the
// kernel path that is active when this is made. k is at least 1. Any number of threads may read it.
class PackedMatrix {
 public:
  PackedMatrix(int64_t n, int64_t k, MatrixView b, ProductType type);
  int64_t n() const { return n_; }
  int64_t k() const { return k_; }
  ProductType type() const { return type_; }
  // Whether products of this type would lay it out so on the active kernel path.
  bool IsFor(ProductType type) const;
  // Where the panels of the slice lie that begins at row `first` of b: those in float32, and those
  // in bfloat16.
  const float* FloatPanels(int64_t first) const;
  const c10::BFloat16* PairPanels(int64_t first) const;

 private:
  int64_t n_, k_;
  ProductType type_;
  int64_t widest_panel_;
  at::Tensor memory_;
};
// Gemm() with b laid out, and the same bits; where there is a bias [n], beta is 0, and each row of
// out begins with it.
void Gemm(int64_t m, MatrixView a, const PackedMatrix& b, const float* bias, float beta, float* out,
          int64_t out_stride);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_GEMM_H_
