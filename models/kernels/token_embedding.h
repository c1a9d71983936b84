// Vectors of tokens from a table.
#ifndef LRA_MODELS_KERNELS_TOKEN_EMBEDDING_H_
#define LRA_MODELS_KERNELS_TOKEN_EMBEDDING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lra {

// The rows of a table [V, E] that ids [..], int32 or int64, name: [.., E]. Differentiable once in
// the table; the row of padding_id gets no gradient (-1: every row gets one). Works on any device
// and type. On the CPU an id outside the table throws c10::Error.
at::Tensor EmbedTokens(const at::Tensor& table, const at::Tensor& ids, int64_t padding_id);

namespace internal {

// The gradient of the table, [rows, E] of zeros to which the rows of upstream [.., E] are added
// token by token, so that it has the bits of at::embedding_dense_backward() with any number of
// threads: float32 on the CPU, E at least 1. The ids are in the table.
at::Tensor TableGradient(const at::Tensor& upstream, const at::Tensor& ids, int64_t rows,
                         int64_t padding_id);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_KERNELS_TOKEN_EMBEDDING_H_
