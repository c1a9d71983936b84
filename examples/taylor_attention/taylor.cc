// taylor: the softmax's exponential replaced by its Taylor polynomial of degree 2.
// Source: Arora et al. 2024 ("Based").
//   w_ij = 1 + s_ij + s_ij^2 / 2,  s_ij = scale q_i . k_j / sqrt(D),
//   o_i = sum_j w_ij v_j / sum_j w_ij
// Since w = ((s + 1)^2 + 1) / 2 >= 1/2, a row sum is never near 0.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>

#include <cmath>

#include "examples/taylor_attention/taylor.pb.h"
#include "lra/status_macros.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/linear_attention.h"

namespace lra {
namespace {

Traits MakeTraits() {
  Traits traits;
  traits.label = "Taylor";
  traits.summary = "linear attention with the exponential's Taylor polynomial of degree 2";
  traits.source = "Arora et al. 2024 (\"Based\")";
  traits.is_row_stochastic = true;
  traits.is_permutation_invariant = true;
  traits.supports_cross = true;
  traits.causality = Causality::kOptional;
  traits.time_order = "N D^3";
  traits.memory_order = "N D^2";
  return traits;
}

class Taylor : public Attention {
 public:
  explicit Taylor(double scale) : scale_(scale) {}

  const Traits& traits() const override { return traits_; }

  // Computes the definition as it stands above.
  at::Tensor Oracle(const AttentionInput& input) const override {
    const int64_t n = input.q.size(2), keys = input.k.size(2);
    at::Tensor admissible = at::ones({1, 1, n, keys}, at::kBool);
    if (input.causal) admissible = admissible.tril(keys - n);
    at::Tensor v = input.v;
    if (input.keep.defined()) {
      admissible = admissible.logical_and(input.keep.view({-1, 1, 1, keys}));
      v = v.masked_fill(input.keep.logical_not().view({-1, 1, keys, 1}), 0);
    }
    const double width = static_cast<double>(input.q.size(3));
    const at::Tensor s = scale_ * at::matmul(input.q, input.k.transpose(2, 3)) / std::sqrt(width);
    const at::Tensor weights = (1 + s + s * s / 2).masked_fill(admissible.logical_not(), 0);
    const at::Tensor sum = weights.sum(-1, true);  // 0 without any admissible key
    return at::matmul(weights, v) / sum.masked_fill(sum == 0, 1);
  }

  // Since w_ij = phi(q_i) . phi(k_j), sums over the keys come first, and time is linear in N.
  at::Tensor Attend(const AttentionInput& input) const override {
    at::Tensor k = input.k;
    // Masked keys are zeroed before the features are made. Otherwise NaN in k would reach its
    // gradient, since the derivative of its square is NaN, even times the core's zero gradient.
    if (input.keep.defined())
      k = k.masked_fill(input.keep.logical_not().view({k.size(0), 1, -1, 1}), 0);
    LinearAttentionSpec spec;
    spec.feature_map = FeatureMap::kIdentity;  // Phi() makes the features
    spec.denominator = Denominator::kPlus;
    spec.epsilon = 0;
    spec.causal = input.causal;
    return LinearAttention(Phi(input.q), Phi(k), input.v, input.keep, spec);
  }

 private:
  // Returns the features [1, x, x x^T / sqrt(2)] of the scaled tokens x, [B, H, N, 1 + D + D^2].
  at::Tensor Phi(const at::Tensor& tokens) const {
    const double width = static_cast<double>(tokens.size(-1));
    const at::Tensor x = tokens * std::sqrt(scale_ / std::sqrt(width));
    const at::Tensor squares = (x.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2) / std::sqrt(2.0);
    return at::cat({at::ones_like(x.narrow(-1, 0, 1)), x, squares}, -1);
  }

  const Traits traits_ = MakeTraits();
  const double scale_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeTaylor(const TaylorOptions& options,
                                                      const AttentionContext& context) {
  return std::make_unique<Taylor>(options.scale());
}

LRA_REGISTER_ATTENTION("taylor", TaylorOptions, MakeTaylor);

}  // namespace
}  // namespace lra
