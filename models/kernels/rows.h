// Row-wise pieces of an encoder layer on tiles of tokens: plain float memory, dense rows, one
// thread.
#ifndef LRA_MODELS_KERNELS_ROWS_H_
#define LRA_MODELS_KERNELS_ROWS_H_

#include <cstdint>

namespace lra {

enum class ActivationKind { kGeluErf, kGeluTanh, kRelu };

// y = (x - mean) * rstd * weight + bias for each of `rows` rows of `width`; also writes mean and
// rstd [rows].
void LayerNormRows(const float* x, int64_t rows, int64_t width, const float* weight,
                   const float* bias, float epsilon, float* y, float* mean, float* rstd);

// dx = residual (unless null) + the gradient through LayerNormRows of dy; adds to weight_gradient
// and bias_gradient [width]. dx may be residual.
void LayerNormBackwardRows(const float* x, const float* dy, int64_t rows, int64_t width,
                           const float* weight, const float* mean, const float* rstd,
                           const float* residual, float* dx, float* weight_gradient,
                           float* bias_gradient);

// out = f(x) for n values. GELU by erf is within 2e-7 absolute.
void ActivationRows(ActivationKind kind, const float* x, int64_t n, float* out);
// value = f(x), gradient *= f'(x); that of ReLU is 0 at 0.
void ActivationBackwardRows(ActivationKind kind, const float* x, int64_t n, float* value,
                            float* gradient);

// Adds the column sums of x [rows, width] to sums.
void AddColumnSums(const float* x, int64_t rows, int64_t width, float* sums);

// Sets every row to `row` [width].
void FillRows(const float* row, int64_t rows, int64_t width, float* out);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_ROWS_H_
