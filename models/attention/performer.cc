// performer: linear attention whose features approximate the softmax kernel (FAVOR+).
// Source: Choromanski et al. 2021, eqs. 4-7 and Lemma 1; RELU as in google-research/
// long-range-arena's generalized attention.
//   o_i = sum_j phi(q_i) . phi(k_j) v_j / sum_j phi(q_i) . phi(k_j)
//   SOFTMAX: phi(x)_r = exp(w_r . x' - |x'|^2 / 2), x' = x D^-1/4;  RELU: phi(x) = relu(x) + floor
// One projection a layer, shared by its heads, drawn once and saved; it is never redrawn.
#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/attention/attention.h"
#include "models/attention/options.h"
#include "models/attention/performer.pb.h"
#include "models/kernels/linear_attention.h"
#include "models/kernels/random_features.h"

namespace lra {
namespace {

constexpr int64_t kDefaultFeatures = 128;
constexpr double kDefaultFloor = 1e-3;

Traits MakeTraits() {
  Traits traits;
  traits.label = "Performer";
  traits.summary = "linear attention with random features of the softmax kernel (FAVOR+)";
  traits.source = "Choromanski et al. 2021, eqs. 4-7 and Lemma 1";
  traits.is_row_stochastic = true;
  traits.is_permutation_invariant = true;
  traits.supports_cross = true;
  traits.time_order = "N M D";
  traits.memory_order = "N M";
  return traits;
}

class Performer : public Attention {
 public:
  // projection: [M, D]; undefined for RELU.
  Performer(PerformerOptions::Kernel kernel, at::Tensor projection, double floor)
      : kernel_(kernel), projection_(std::move(projection)), floor_(floor) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    LinearAttentionSpec spec;
    spec.feature_map = FeatureMap::kIdentity;  // of features made here
    spec.denominator = Denominator::kPlus;
    spec.epsilon = 0;
    if (kernel_ == PerformerOptions::RELU) {
      return LinearAttention(at::relu(input.q) + floor_, at::relu(input.k) + floor_, input.v,
                             input.keep, spec);
    }
    // Selected before exp too: the gradient of exp(NaN) would be NaN times the core's zero.
    at::Tensor k = input.k;
    if (input.keep.defined())
      k = k.masked_fill(input.keep.logical_not().view({k.size(0), 1, -1, 1}), 0);
    const double scale = std::pow(static_cast<double>(k.size(3)), -0.25);
    const bool is_hyperbolic = kernel_ == PerformerOptions::HYPERBOLIC;
    const FeaturePair features =
        StableFeatures(LogPositiveFeatures(input.q * scale, projection_, is_hyperbolic),
                       LogPositiveFeatures(k * scale, projection_, is_hyperbolic), input.keep);
    return LinearAttention(features.query, features.key, input.v, input.keep, spec);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const at::Tensor weights = at::matmul(Phi(input.q), Phi(input.k).transpose(-1, -2));
    return DenseWeightedAverage(weights, input.v, input.keep, Denominator::kPlus, 0);
  }

 private:
  // The features by their definition, without anything that keeps them in range.
  at::Tensor Phi(const at::Tensor& x) const {
    if (kernel_ == PerformerOptions::RELU) return at::relu(x) + floor_;
    at::Tensor w = projection_.to(x.options());
    if (kernel_ == PerformerOptions::HYPERBOLIC) w = at::cat({w, -w});
    const at::Tensor scaled = x / std::sqrt(std::sqrt(static_cast<double>(x.size(3))));
    const at::Tensor normaliser = at::exp((scaled * scaled).sum(-1, true) * -0.5);
    return at::exp(at::einsum("bhnd,md->bhnm", {scaled, w})) * normaliser /
           std::sqrt(static_cast<double>(w.size(0)));
  }

  const Traits traits_ = MakeTraits();
  const PerformerOptions::Kernel kernel_;
  const at::Tensor projection_;
  const double floor_;
};

absl::Status CheckOptions(const PerformerOptions& options) {
  if (options.has_features() && options.features() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("attention.options.features: is ",
                                                   options.features(), ", must be at least 1"));
  }
  if (options.has_relu_floor() && !(options.relu_floor() > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("attention.options.relu_floor: is ",
                                                   options.relu_floor(),
                                                   ", must be above 0: a row sum could be 0"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Attention>> MakePerformer(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const PerformerOptions options,
                       UnpackOptions<PerformerOptions>(context.options));
  LRA_RETURN_IF_ERROR(CheckOptions(options));
  const bool is_set = options.kernel() != PerformerOptions::KERNEL_UNSPECIFIED;
  const PerformerOptions::Kernel kernel = is_set ? options.kernel() : PerformerOptions::SOFTMAX;
  at::Tensor projection;
  if (kernel != PerformerOptions::RELU) {
    const int64_t features = options.has_features() ? options.features() : kDefaultFeatures;
    projection =
        context.parameters->CreateBuffer(absl::StrCat(context.scope, "projection"),
                                         {features, context.head_width}, Initializer::Normal(1));
    if (!options.has_is_orthogonal() || options.is_orthogonal()) OrthogonaliseRows(projection);
  }
  return std::make_unique<Performer>(
      kernel, projection, options.has_relu_floor() ? options.relu_floor() : kDefaultFloor);
}

LRA_REGISTER(AttentionRegistry, "performer", MakePerformer);

}  // namespace
}  // namespace lra
