// linear: the linear transformer.
// Source: Katharopoulos et al. 2020 ("Transformers are RNNs"), eqs. 4-7; epsilon as in the released
// code.
//   o_i = sum_j phi(q_i) . phi(k_j) v_j / (sum_j phi(q_i) . phi(k_j) + epsilon),  phi(x) = elu(x) +
//   1
#include <ATen/ATen.h>

#include "lra/status_macros.h"
#include "models/attention/attention.h"
#include "models/attention/linear.pb.h"
#include "models/attention/options.h"
#include "models/kernels/linear_attention.h"

namespace lra {
namespace {

constexpr double kDefaultEpsilon = 1e-6;

Traits MakeTraits() {
  Traits traits;
  traits.label = "Linear Transformer";
  traits.summary = "kernel attention with the features elu(x) + 1";
  traits.source = "Katharopoulos et al. 2020, eqs. 4-7";
  traits.is_row_stochastic = true;
  traits.is_permutation_invariant = true;
  traits.supports_cross = true;
  traits.time_order = "N D^2";
  traits.memory_order = "N D";
  return traits;
}

class Linear : public Attention {
 public:
  explicit Linear(double epsilon) {
    spec_.feature_map = FeatureMap::kEluPlusOne;
    spec_.denominator = Denominator::kPlus;
    spec_.epsilon = epsilon;
  }

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    return LinearAttention(input.q, input.k, input.v, input.keep, spec_);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const at::Tensor weights =
        at::matmul(at::elu(input.q) + 1, (at::elu(input.k) + 1).transpose(-1, -2));
    return DenseWeightedAverage(weights, input.v, input.keep, Denominator::kPlus, spec_.epsilon);
  }

 private:
  const Traits traits_ = MakeTraits();
  LinearAttentionSpec spec_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeLinear(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const LinearOptions options, UnpackOptions<LinearOptions>(context.options));
  return std::make_unique<Linear>(options.has_epsilon() ? options.epsilon() : kDefaultEpsilon);
}

LRA_REGISTER(AttentionRegistry, "linear", MakeLinear);

}  // namespace
}  // namespace lra
