// Sums over the chunks before, or after, each chunk of a sequence, for all chunks at once: products
// with triangular matrices, a number of operators that grows with log T. Deterministic on every
// device, which cumulative sums of floats are not on CUDA.
#ifndef LRA_MODELS_KERNELS_CHUNK_PREFIX_H_
#define LRA_MODELS_KERNELS_CHUNK_PREFIX_H_

#include <ATen/core/Tensor.h>

namespace lra {

// What becomes of a sum on its way over the chunks. Undefined = unchanged.
struct ChunkFading {
  at::Tensor logs;    // [R, T] float64: log of what is left of it behind each chunk
  at::Tensor scales;  // [R, T - 1, D]: what multiplies it from each chunk to the next
};

// states [R, T, V, D] -> [R, T, V, D], the exclusive sum
//   out_t = sum_{s < t} prod_{s < r < t} exp(logs_r) prod_{s <= r < t} scales_r states_s.
// Only differences of sums of logs are exponentiated, and none above 0 is kept, so that nothing
// overflows where all logs are <= 0. Takes memory for two or three times the states, and a matrix
// of at most 129 x 128 numbers for each group of 128 chunks. With scales, which are vectors, it
// goes through the chunks, with one operator for each.
at::Tensor EarlierSums(const at::Tensor& states, const ChunkFading& fading);

// The adjoint: out_s = the same sum over t > s. The order of T is reversed.
at::Tensor LaterSums(const at::Tensor& states, const ChunkFading& fading);

// t [R, N] -> [R, N], the inclusive sum over positions from each one on.
at::Tensor SuffixSums(const at::Tensor& t);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_CHUNK_PREFIX_H_
