// performer's variant LRA2020, the softmax kernel as google-research/long-range-arena computes it
// (lra_benchmarks/models/performer/performer_attention.py), with e = 1e-6:
//   u(x)_r = w_r . x', x' = x D^-1/4
//   phi(q_i)_r = M^-1/2 (exp(u(q_i)_r - |q_i'|^2 / 2 - max_s u(q_i)_s) + e)
//   phi(k_j)_r = M^-1/2 (exp(u(k_j)_r - |k_j'|^2 / 2 - max_js u(k_j)_s) + e)
//   o_i = sum_j w_ij v_j / n_i,  w_ij = phi(q_i) . phi(k_j),  n_i = sum_j w_ij, + 2 e where <= e
// The constants cancel for e = 0 only. The maxima are of u, so an exponent can lie any far below 0:
// where |x'|^2 / 2 passes -ln e = 14 all features of a token are e, its weights are equal, and with
// n_i below e its output fades to 0. There, masks are ignored and w is drawn in each call from a
// seed made of the sum of q; here masks select, also in the maximum, and w is drawn once.
#include "models/attention/performer_lra2020.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

#include "models/kernels/linear_attention.h"
#include "models/kernels/select_kept.h"

namespace lra {
namespace {

constexpr double kEpsilon = 1e-6;
constexpr double kMasked = -1e30;

Traits MakeTraits() {
  Traits traits;
  traits.label = "Performer";
  traits.summary = "linear attention with FAVOR+ features that an epsilon is added to";
  traits.source = "google-research/long-range-arena, performer_attention.py";
  traits.is_row_stochastic = false;  // small sums are raised
  traits.is_permutation_invariant = true;
  traits.supports_cross = true;
  traits.causality = Causality::kNever;
  traits.causal_reason = "its stabiliser is the largest product of all keys, later ones included";
  traits.time_order = "N M D";
  traits.memory_order = "N (M + D)";
  return traits;
}

class Lra2020Performer : public Attention {
 public:
  explicit Lra2020Performer(at::Tensor projection) : projection_(std::move(projection)) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const at::Tensor q = Scaled(input.q), k = Scaled(SelectKept(input.k, input.keep));
    const at::Tensor of_q = Products(q), of_k = Products(k);
    at::Tensor kept = of_k;
    if (input.keep.defined())
      kept = of_k.masked_fill(input.keep.logical_not().view({k.size(0), 1, -1, 1}), kMasked);
    const at::Tensor largest = kept.amax({2, 3}, true);  // [B, H, 1, 1]
    LinearAttentionSpec sums;
    sums.feature_map = FeatureMap::kIdentity;
    sums.denominator = Denominator::kNone;
    const at::Tensor ones = at::ones_like(input.v.narrow(3, 0, 1));
    const at::Tensor both = LinearAttention(
        FeaturesOf(q, of_q, of_q.amax(3, true)),
        FeaturesOf(k, of_k, largest.masked_fill(largest <= kMasked / 2, 0)),  // no keys at all
        at::cat({input.v, ones}, 3), input.keep, sums);                       // [B, H, N, Dv + 1]
    const at::Tensor sum = both.narrow(3, input.v.size(3), 1);
    return both.narrow(3, 0, input.v.size(3)) /
           (sum + 2 * kEpsilon * (sum <= kEpsilon).to(sum.options()));
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const double width = static_cast<double>(input.q.size(3)),
                 count = static_cast<double>(projection_.size(0));
    at::Tensor masked = at::zeros({1, 1, 1, input.k.size(2)}, input.k.options().dtype(at::kBool));
    if (input.keep.defined()) masked = input.keep.logical_not().view({-1, 1, 1, input.k.size(2)});
    const at::Tensor k = input.k.masked_fill(masked.mT(), 0),
                     v = input.v.masked_fill(masked.mT(), 0);
    const auto products = [&](const at::Tensor& x) {
      return at::einsum("bhnd,md->bhnm", {x, projection_.to(x.options())}) / std::pow(width, 0.25);
    };
    const auto half_square = [&](const at::Tensor& x) {
      return x.pow(2).sum(3, true) / (2 * std::sqrt(width));
    };
    const at::Tensor query = products(input.q), key = products(k);
    const at::Tensor by_query = std::get<0>(query.max(3, true));
    at::Tensor of_keys = std::get<0>(key.masked_fill(masked.mT(), kMasked).flatten(2).max(2))
                             .view({-1, query.size(1), 1, 1});
    of_keys = at::where(of_keys == kMasked, at::zeros_like(of_keys), of_keys);
    const at::Tensor phi_q = at::exp(query - half_square(input.q) - by_query) + kEpsilon,
                     phi_k = at::exp(key - half_square(k) - of_keys) + kEpsilon;
    const at::Tensor weights = (at::matmul(phi_q, phi_k.mT()) / count).masked_fill(masked, 0);
    const at::Tensor sum = weights.sum(3, true);
    return at::matmul(weights, v) / at::where(sum <= kEpsilon, sum + 2 * kEpsilon, sum);
  }

 private:
  static at::Tensor Scaled(const at::Tensor& x) {
    return x * std::pow(static_cast<double>(x.size(3)), -0.25);
  }

  at::Tensor Products(const at::Tensor& scaled) const {  // [B, H, N, M]
    return at::matmul(scaled, projection_.to(scaled.options()).t());
  }

  at::Tensor FeaturesOf(const at::Tensor& scaled, const at::Tensor& products,
                        const at::Tensor& largest) const {
    const at::Tensor logarithms = products - scaled.square().sum(3, true) / 2 - largest;
    return (logarithms.exp() + kEpsilon) / std::sqrt(static_cast<double>(projection_.size(0)));
  }

  const Traits traits_ = MakeTraits();
  const at::Tensor projection_;
};

}  // namespace

std::unique_ptr<Attention> MakeLra2020Performer(at::Tensor projection) {
  return std::make_unique<Lra2020Performer>(std::move(projection));
}

}  // namespace lra
