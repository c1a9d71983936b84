// relu: ReLU features without a re-weighting: cosFormer with a cosine of 1.
// Source: Qin et al. 2022 ("cosFormer"), section 2.3 and table 6; the clamp of the row sum as in
// the released code.
//   o_i = sum_j w_ij v_j / max(sum_j w_ij, epsilon),  w_ij = relu(q_i) . relu(k_j)
#include <ATen/ATen.h>

#include "lra/status_macros.h"
#include "models/attention/attention.h"
#include "models/attention/options.h"
#include "models/attention/relu.pb.h"
#include "models/kernels/linear_attention.h"

namespace lra {
namespace {

constexpr double kDefaultEpsilon = 1e-6;

Traits MakeTraits() {
  Traits traits;
  traits.label = "ReLU";
  traits.summary = "ReLU features without re-weighting (an ablation of cosFormer)";
  traits.source = "Qin et al. 2022, section 2.3 and table 6";
  traits.is_row_stochastic = true;
  traits.is_permutation_invariant = true;
  traits.supports_cross = true;
  traits.time_order = "N D^2";
  traits.memory_order = "N D";
  return traits;
}

class Relu : public Attention {
 public:
  explicit Relu(double epsilon) {
    spec_.feature_map = FeatureMap::kRelu;
    spec_.denominator = Denominator::kClamp;
    spec_.epsilon = epsilon;
  }

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    return LinearAttention(input.q, input.k, input.v, input.keep, spec_);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const at::Tensor weights = at::matmul(at::relu(input.q), at::relu(input.k).transpose(-1, -2));
    return DenseWeightedAverage(weights, input.v, input.keep, Denominator::kClamp, spec_.epsilon);
  }

 private:
  const Traits traits_ = MakeTraits();
  LinearAttentionSpec spec_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeRelu(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const ReluOptions options, UnpackOptions<ReluOptions>(context.options));
  return std::make_unique<Relu>(options.has_epsilon() ? options.epsilon() : kDefaultEpsilon);
}

LRA_REGISTER(AttentionRegistry, "relu", MakeRelu);

}  // namespace
}  // namespace lra
