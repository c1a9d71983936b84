// Random features of the softmax kernel (FAVOR+). Source: Choromanski et al. 2021 ("Rethinking
// Attention with Performers"), Lemma 1 and section 2.4.
//
//   exp(x . y) = E[phi(x) . phi(y)],  phi(x)_r = M^-1/2 exp(w_r . x - |x|^2 / 2),  w_r ~ N(0, I_D)
#ifndef LRA_MODELS_KERNELS_RANDOM_FEATURES_H_
#define LRA_MODELS_KERNELS_RANDOM_FEATURES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lra {

// Makes the rows of a Gaussian matrix [M, D] orthogonal within each block of D rows, in place, and
// keeps their norms. The norm of a Gaussian row is independent of its direction, so each row stays
// N(0, I_D). float32 on the CPU.
void OrthogonaliseRows(const at::Tensor& matrix);

// log phi(x) without the factor M^-1/2, which cancels in a normalised average: x [.., D],
// projection [M, D] -> [.., M] in the type of x. If hyperbolic, features of w and of -w: [.., 2M].
at::Tensor LogPositiveFeatures(const at::Tensor& x, const at::Tensor& projection,
                               bool is_hyperbolic);

// Features of queries and keys whose products are phi(q_i) . phi(k_j) times a constant for each i.
struct StableFeatures {
  at::Tensor query, key;  // [B, H, N, M], [B, H, Nk, M]; in [0, 1]
  // For the causal form: LinearAttentionSpec::state_scale and ::chunk_starts, and the largest
  // logarithm of each feature so far, [B, H, M].
  at::Tensor state_scale, running_max;
  std::vector<int64_t> chunk_starts = {};
};

// Makes features from their logarithms; keep is [B, Nk] bool or undefined, and masked keys get 0.
// Each feature of the keys is divided by its largest value over the kept keys, and that of the
// queries is multiplied by it; then each query is divided by its own largest. So, whatever the
// logarithms are, no row sum phi(q_i) . sum_j phi(k_j) of a row with keys is below 1: nothing
// underflows, and no epsilon is needed.
StableFeatures MakeStableFeatures(const at::Tensor& log_query, const at::Tensor& log_key,
                                  const at::Tensor& keep);

// The causal form, N = Nk. Keys are divided by their largest value up to the end of their chunk of
// kCausalChunkTokens, so that keys of later chunks, however large, cannot make earlier ones vanish.
// Nor can those of the same chunk on the CPU: where one could bring the sum of an earlier row below
// e^-60, shorter chunks begin. On a device, whose values nobody waits for, chunks stay as they are,
// and a row whose keys are all below e^-87 of a later one of its chunk is 0 / 0, at which training
// stops. running_max [B, H, M] belongs to earlier pieces, or is undefined.
StableFeatures CausalStableFeatures(const at::Tensor& log_query, const at::Tensor& log_key,
                                    const at::Tensor& keep, const at::Tensor& running_max);

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_RANDOM_FEATURES_H_
