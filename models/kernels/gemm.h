// Single-precision matrix products on plain row-major memory, for kernels that work on tiles.
#ifndef LRA_MODELS_KERNELS_GEMM_H_
#define LRA_MODELS_KERNELS_GEMM_H_

#include <cstdint>

namespace lra {

// A row-major block whose rows start `stride` floats apart; if `transposed`, it is read as its
// transpose.
struct MatrixView {
  const float* data;
  int64_t stride;
  bool transposed = false;
};

// out [m, n] = op(a) [m, k] op(b) [k, n] + beta * out. Inside a parallel region it runs on the
// calling thread.
void Gemm(int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b, float beta, float* out,
          int64_t out_stride);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_GEMM_H_
