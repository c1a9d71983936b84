// cosformer: ReLU features with a cosine re-weighting of distance.
// Source: Qin et al. 2022 ("cosFormer"), eqs. 7-12; the clamp of the row sum as in the released
// code.
//   w_ij = relu(q_i) . relu(k_j) cos(pi (i - j) / 2M),  o_i = sum_j w_ij v_j / max(sum_j w_ij,
//   epsilon)
// M must be at least the longest sequence: beyond it cosines turn negative. Two choices of M do not
// depend on padding or batch: FIXED (default), a constant, and LENGTH, each example's own length.
#include <ATen/ATen.h>

#include <algorithm>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "lra/status_macros.h"
#include "models/attention/attention.h"
#include "models/attention/cosformer.pb.h"
#include "models/attention/options.h"
#include "models/kernels/linear_attention.h"

namespace lra {
namespace {

constexpr double kDefaultEpsilon = 1e-6;

Traits MakeTraits() {
  Traits traits;
  traits.label = "cosFormer";
  traits.summary = "ReLU features re-weighted by the cosine of the distance";
  traits.source = "Qin et al. 2022, eqs. 7-12";
  traits.is_row_stochastic = true;
  traits.is_permutation_invariant = false;
  traits.supports_cross = true;
  traits.time_order = "2 N D^2";
  traits.memory_order = "N D";
  return traits;
}

class Cosformer : public Attention {
 public:
  // scale_tokens: M, or 0 for each example's own length.
  Cosformer(int64_t scale_tokens, double epsilon) : scale_tokens_(scale_tokens) {
    spec_.feature_map = FeatureMap::kRelu;
    spec_.denominator = Denominator::kClamp;
    spec_.epsilon = epsilon;
  }

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    LinearAttentionSpec spec = spec_;
    spec.query_angles = Angles(input, input.q.size(2));
    spec.key_angles = Angles(input, input.k.size(2));
    return LinearAttention(input.q, input.k, input.v, input.keep, spec);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const at::Tensor rows = Angles(input, input.q.size(2)),
                     columns = Angles(input, input.k.size(2));
    at::Tensor cosine = at::cos(rows.unsqueeze(-1) - columns.unsqueeze(-2)).to(input.q.options());
    if (cosine.dim() == 3) cosine = cosine.unsqueeze(1);  // [B, 1, N, Nk]
    const at::Tensor weights =
        at::matmul(at::relu(input.q), at::relu(input.k).transpose(-1, -2)) * cosine;
    return DenseWeightedAverage(weights, input.v, input.keep, Denominator::kClamp, spec_.epsilon);
  }

 private:
  // pi i / 2M for i < n: [n], or [B, n] where M is the example's length.
  at::Tensor Angles(const AttentionInput& input, int64_t n) const {
    TORCH_CHECK(scale_tokens_ == 0 || n <= scale_tokens_, "cosformer: ", n,
                " tokens exceed M = ", scale_tokens_,
                "; set attention.options.scale_tokens to at least the longest sequence");
    const at::Tensor positions =
        at::arange(n, input.q.options().dtype(at::kDouble)) * (std::numbers::pi / 2);
    if (scale_tokens_ > 0) return positions / static_cast<double>(scale_tokens_);
    if (!input.keep.defined())
      return positions / static_cast<double>(std::max<int64_t>(1, input.k.size(2)));
    return positions / input.keep.sum(1, true).clamp_min(1).to(at::kDouble);
  }

  const Traits traits_ = MakeTraits();
  const int64_t scale_tokens_;
  LinearAttentionSpec spec_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeCosformer(const AttentionContext& context) {
  LRA_ASSIGN_OR_RETURN(const CosformerOptions options,
                       UnpackOptions<CosformerOptions>(context.options));
  const double epsilon = options.has_epsilon() ? options.epsilon() : kDefaultEpsilon;
  if (options.scale() == CosformerOptions::LENGTH) {
    if (options.scale_tokens() == 0) return std::make_unique<Cosformer>(0, epsilon);
    return absl::InvalidArgumentError(
        absl::StrCat("attention.options.scale_tokens: is ", options.scale_tokens(),
                     " though scale is LENGTH; leave it 0 or set scale: FIXED"));
  }
  const int64_t scale =
      options.scale_tokens() > 0 ? options.scale_tokens() : context.max_length_tokens;
  if (scale < context.max_length_tokens || scale < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention.options.scale_tokens: M = ", scale,
                     " is below the longest sequence, ", context.max_length_tokens,
                     " tokens (CLS included); set at least that, or 0 for exactly that"));
  }
  return std::make_unique<Cosformer>(scale, epsilon);
}

LRA_REGISTER(AttentionRegistry, "cosformer", MakeCosformer);

}  // namespace
}  // namespace lra
