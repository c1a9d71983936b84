#include "models/attention/s4d_start.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/real.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros_like.h>

#include <numbers>
#include <tuple>

namespace lra {
namespace {

constexpr double kLargestInput = 2;  // of the imaginary part of LegS' B

// HiPPO-LegS with q_n = sqrt(2 n + 1) is A = S - 1/2 - p p^T for p = q / sqrt(2), where S is skew
// (S_nk = -q_n q_k / 2 below the diagonal), and B = q. Hence -i S is Hermitian, its eigenvalues are
// the frequencies, and its eigenvectors V turn B into V* q.
StateSpaceStart LegsStart(int64_t pairs) {
  const int64_t states = 2 * pairs;
  const at::Tensor q = at::sqrt(2 * at::arange(states, at::kDouble) + 1);
  const at::Tensor products = at::outer(q, q) / 2, skew = products.triu(1) - products.tril(-1);
  const auto [values, all_vectors] = at::linalg_eigh(at::complex(at::zeros_like(skew), -skew), "L");
  // They ascend and come in pairs of opposite sign, so the largest frequency is the last.
  const at::Tensor vectors = all_vectors.narrow(1, pairs, pairs).flip({1});
  // An eigenvector's phase is free, but cutting off B's imaginary part depends on it. LAPACK makes
  // the first component real, and we make it positive too.
  const at::Tensor first = vectors[0];
  const at::Tensor phase = first.conj() / at::abs(first);
  const at::Tensor input = at::matmul((vectors * phase).transpose(0, 1).conj(),
                                      at::complex(q, at::zeros_like(q)).unsqueeze(1))
                               .squeeze(1);
  const at::Tensor cut = at::clamp(at::imag(input), -kLargestInput, kLargestInput);
  return {values.narrow(0, pairs, pairs).flip({0}), at::complex(at::real(input).contiguous(), cut)};
}

}  // namespace

StateSpaceStart StartOf(S4dOptions::Init init, int64_t pairs) {
  if (init == S4dOptions::LEGS) return LegsStart(pairs);
  const at::Tensor ones = at::ones({pairs}, at::kComplexDouble);
  // The product is float32's: runs on record started from it.
  if (init == S4dOptions::LIN) return {std::numbers::pi * at::arange(pairs), ones};
  const double states = 2.0 * static_cast<double>(pairs);
  const at::Tensor odd = 2 * at::arange(pairs, at::kDouble) + 1;
  return {states / std::numbers::pi * (states / odd - 1), ones};
}

}  // namespace lra
