// Matrix products on plain row-major memory, for kernels that work on tiles.
#ifndef LRA_MODELS_KERNELS_GEMM_H_
#define LRA_MODELS_KERNELS_GEMM_H_

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

// For many products with one b [k, n]: as Gemm() lays it out for itself in each of them. `out` has
// room for PackedSize() floats.
int64_t PackedSize(int64_t n, int64_t k);
void PackMatrix(int64_t n, int64_t k, MatrixView b, float* out);
// Gemm() in float32 with what PackMatrix(n, k) wrote; the same bits.
void GemmPacked(int64_t m, int64_t n, int64_t k, MatrixView a, const float* packed, float beta,
                float* out, int64_t out_stride);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_GEMM_H_
