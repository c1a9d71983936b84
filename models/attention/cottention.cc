// cottention: cosine similarities as weights, without softmax or row sum.
// Source: Mongaras et al. 2024 ("Cottention: Linear Transformers With Cosine Attention"), eqs. 3-5;
// s and its lower bound as in the released BERT code.
//   o_i = s^-sigmoid(m) sum_j cos(q_i, k_j) v_j,  s = number of kept keys (at least 1)
// m is a learned scalar of each head. Rows are normalised by sqrt(|x|^2 + norm_epsilon); the
// released code divides by max(|x|, 1e-12).
#include <ATen/ATen.h>

#include "lra/check.h"
#include "lra/status_macros.h"
#include "models/attention/attention.h"
#include "models/attention/cottention.pb.h"
#include "models/attention/options.h"
#include "models/kernels/linear_attention.h"

namespace lra {
namespace {

constexpr double kDefaultInitialExponent = 0.5;
constexpr double kDefaultNormEpsilon = 1e-6;

Traits MakeTraits() {
  Traits traits;
  traits.label = "Cottention";
  traits.summary = "cosine similarities as weights, divided by a learned power of the length";
  traits.source = "Mongaras et al. 2024, eqs. 3-5";
  traits.is_row_stochastic = false;  // weights have both signs and no row sum divides them
  traits.is_permutation_invariant = true;
  traits.supports_cross = true;
  traits.time_order = "N D^2";
  traits.memory_order = "N D";
  return traits;
}

class Cottention : public Attention {
 public:
  // exponent: m, [H].
  Cottention(at::Tensor exponent, double norm_epsilon) : exponent_(std::move(exponent)) {
    spec_.feature_map = FeatureMap::kUnit;
    spec_.denominator = Denominator::kNone;
    spec_.norm_epsilon = norm_epsilon;
  }

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const at::Tensor sums = LinearAttention(input.q, input.k, input.v, input.keep, spec_);
    const at::Tensor powers = at::sigmoid(exponent_.to(sums.scalar_type())).view({1, -1, 1, 1});
    return sums * at::exp(-powers * KeyCounts(input.k, input.keep).log());
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const auto unit = [&](const at::Tensor& x) {
      const at::Tensor squares = x.square().sum(-1, true) + spec_.norm_epsilon;
      const at::Tensor is_zero = squares == 0;
      return (x / squares.masked_fill(is_zero, 1).sqrt()).masked_fill(is_zero, 0);
    };
    at::Tensor cosines = at::matmul(unit(input.q), unit(input.k).transpose(-1, -2)), v = input.v;
    at::Tensor keys = at::full({1, 1, 1, 1}, static_cast<double>(v.size(2)), v.options());
    if (input.keep.defined()) {
      const at::Tensor masked = input.keep.logical_not();
      cosines = cosines.masked_fill(masked.view({masked.size(0), 1, 1, -1}), 0);
      v = v.masked_fill(masked.view({masked.size(0), 1, -1, 1}), 0);
      keys = input.keep.to(v.scalar_type()).sum(1).view({-1, 1, 1, 1}).clamp_min(1);
    }
    const at::Tensor m = exponent_.to(v.scalar_type()).view({1, -1, 1, 1});
    return at::matmul(cosines, v) / at::pow(keys, 1 / (1 + at::exp(-m)));
  }

 private:
  const Traits traits_ = MakeTraits();
  const at::Tensor exponent_;
  LinearAttentionSpec spec_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeCottention(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const CottentionOptions options,
                       UnpackOptions<CottentionOptions>(context.options));
  LRA_CHECK(context.parameters != nullptr);
  const double initial =
      options.has_initial_exponent() ? options.initial_exponent() : kDefaultInitialExponent;
  return std::make_unique<Cottention>(
      context.parameters->Create(context.scope + "length_exponent", {context.heads},
                                 Initializer::Constant(initial)),
      options.has_norm_epsilon() ? options.norm_epsilon() : kDefaultNormEpsilon);
}

LRA_REGISTER(AttentionRegistry, "cottention", MakeCottention);

}  // namespace
}  // namespace lra
