#include "models/kernels/gemm.h"

#ifdef LRA_HAVE_SGEMM
// The BLAS that LibTorch is built with and exports.
extern "C" void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                       const int* k, const float* alpha, const float* a, const int* lda,
                       const float* b, const int* ldb, const float* beta, float* c, const int* ldc);
#else
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#endif

namespace lra {

#ifdef LRA_HAVE_SGEMM

void Gemm(int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b, float beta, float* out,
          int64_t out_stride) {
  // BLAS is column-major, so it sees every row-major matrix transposed: out^T = op(b)^T op(a)^T.
  const char first = b.transposed ? 'T' : 'N', second = a.transposed ? 'T' : 'N';
  const int rows = static_cast<int>(n), columns = static_cast<int>(m), inner = static_cast<int>(k);
  const int first_stride = static_cast<int>(b.stride), second_stride = static_cast<int>(a.stride);
  const int result_stride = static_cast<int>(out_stride);
  const float one = 1.0f;
  sgemm_(&first, &second, &rows, &columns, &inner, &one, b.data, &first_stride, a.data,
         &second_stride, &beta, out, &result_stride);
}

#else

namespace {

at::Tensor View(MatrixView view, int64_t rows, int64_t columns) {
  float* data = const_cast<float*>(view.data);
  if (view.transposed) return at::from_blob(data, {rows, columns}, {1, view.stride}, at::kFloat);
  return at::from_blob(data, {rows, columns}, {view.stride, 1}, at::kFloat);
}

}  // namespace

void Gemm(int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b, float beta, float* out,
          int64_t out_stride) {
  at::Tensor result = View({out, out_stride}, m, n);
  const at::Tensor left = View(a, m, k), right = View(b, k, n);
  if (beta == 0.0f) {
    at::mm_out(result, left, right);
  } else {
    at::addmm_out(result, result, left, right, beta);
  }
}

#endif

}  // namespace lra
