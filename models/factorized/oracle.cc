// The family by its definition, with every weight as a dense matrix.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <numbers>

#include "models/factorized/factorized_attention.h"

namespace lra {
namespace {

// phi(x), without anything that keeps it in range.
at::Tensor DensePhi(const FactorizedSpec& spec, const at::Tensor& x) {
  const double width = static_cast<double>(x.size(3));
  const auto unit = [](const at::Tensor& t, double epsilon) {
    const at::Tensor squares = (t * t).sum(-1, true) + epsilon;
    return (t / squares.masked_fill(squares == 0, 1).sqrt()).masked_fill(squares == 0, 0);
  };
  const auto products = [&](const at::Tensor& t) {
    return at::einsum("bhnd,md->bhnm", {t, spec.projection.to(t.options())});
  };
  const auto random = [&](const at::Tensor& logs) {
    const double count = static_cast<double>(logs.size(-1));
    return at::exp(logs) * at::exp((x * x).sum(-1, true) / std::sqrt(width) * -0.5) /
           std::sqrt(count);
  };
  const auto scaled_unit = [&] {
    return products(
        at::einsum("bhnd,hd->bhnd", {unit(x, 0), spec.projection_scale.to(x.options())}));
  };
  const at::Tensor zero = at::zeros_like(x);
  switch (spec.feature) {
    case FactorizedFeature::kIdentity:
      return x;
    case FactorizedFeature::kRelu:
      return at::maximum(x, zero);
    case FactorizedFeature::kLeakyRelu:
      return at::maximum(x, zero) + spec.leaky_slope * at::minimum(x, zero);
    case FactorizedFeature::kEluPlusOne:
      return at::elu(x) + 1;
    case FactorizedFeature::kUnit:
      return unit(x, spec.norm_epsilon);
    case FactorizedFeature::kSquaredRelu:
      return at::maximum(x, zero).pow(2);
    case FactorizedFeature::kReluPlusFloor:
      return at::maximum(x, zero) + spec.feature_floor;
    case FactorizedFeature::kExp:
      return at::exp(x);
    case FactorizedFeature::kPositiveRandom:
      return random(products(x / std::pow(width, 0.25)));
    case FactorizedFeature::kHyperbolicRandom: {
      const at::Tensor logs = products(x / std::pow(width, 0.25));
      return random(at::cat({logs, -logs}, -1));
    }
    case FactorizedFeature::kTrigonometric: {
      const at::Tensor z = scaled_unit();
      return at::cat({z.sin(), z.cos()}, -1) / std::sqrt(static_cast<double>(z.size(-1)));
    }
    case FactorizedFeature::kArcCosine: {
      const at::Tensor z = scaled_unit();
      return z.clamp_min(0) / std::sqrt(static_cast<double>(z.size(-1)));
    }
  }
  return x;
}

class Dense {
 public:
  Dense(const FactorizedSpec& spec, const AttentionInput& input)
      : spec_(spec),
        input_(input),
        is_causal_(input.causal || spec.reweighting == Reweighting::kGate),
        n_(input.q.size(2)),
        keys_(input.k.size(2)) {}

  at::Tensor Output() const {
    const at::Tensor q = DensePhi(spec_, input_.q), k = DensePhi(spec_, Kept(input_.k));
    const at::Tensor weights =
        (at::matmul(q, k.transpose(-1, -2)) * Positional()).masked_fill(Hidden(), 0);
    return Normalise(weights, q, k);
  }

 private:
  at::Tensor Kept(const at::Tensor& t) const {
    if (!input_.keep.defined()) return t;
    return t.masked_fill(input_.keep.logical_not().view({input_.keep.size(0), 1, keys_, 1}), 0);
  }

  // The pairs without weight, [B or 1, 1, N, Nk].
  at::Tensor Hidden() const {
    at::Tensor hidden = at::zeros({1, 1, n_, keys_}, input_.q.options().dtype(at::kBool));
    if (is_causal_) hidden = at::ones_like(hidden).triu(1 + keys_ - n_);
    if (input_.keep.defined())
      hidden = hidden.logical_or(input_.keep.logical_not().view({-1, 1, 1, keys_}));
    return hidden;
  }

  // pi / 2M in float64, [1 or B, 1 or H, 1, 1].
  at::Tensor RadiansPerToken() const {
    at::Tensor scale = at::full({1, 1, 1, 1}, static_cast<double>(spec_.scale_tokens),
                                input_.q.options().dtype(at::kDouble));
    if (spec_.learned_scale.defined()) {
      scale = scale * (1 + at::exp(spec_.learned_scale.to(at::kDouble))).view({1, -1, 1, 1});
    } else if (spec_.scale_tokens == 0) {
      // The largest position of a key is M - 1, or, with more queries than keys, that of a query.
      const at::Tensor ends = at::arange(1, keys_ + 1, scale.options()).view({1, 1, keys_, 1});
      scale = Kept(ends.expand({input_.k.size(0), 1, keys_, 1})).amax(2, true).clamp_min(1);
      if (n_ > keys_) scale = scale.clamp_min(n_);
    }
    return std::numbers::pi / 2 / scale;
  }

  at::Tensor Cosines() const {
    const auto options = input_.q.options().dtype(at::kDouble);
    // In the causal form the last query and the last key are the same token.
    const at::Tensor distance = at::arange(n_, options).unsqueeze(-1) - at::arange(keys_, options) +
                                (is_causal_ ? static_cast<double>(keys_ - n_) : 0.0);
    const at::Tensor angle = distance * RadiansPerToken();
    at::Tensor total = at::zeros_like(angle);
    for (const double frequency : spec_.frequencies) total = total + at::cos(angle * frequency);
    return (total / static_cast<double>(spec_.frequencies.size())).to(input_.q.options());
  }

  // log g, [H].
  at::Tensor Decay() const {
    if (!spec_.learned_scale.defined()) return spec_.log_decay;
    return spec_.log_decay / at::exp(spec_.learned_scale.to(at::kDouble));
  }

  // prod_{j < s <= i} g_s (1 - g_j) with g = 1 at masked tokens, [B, H, N, N].
  at::Tensor Gates() const {
    const at::Tensor x = input_.keep.defined()
                             ? input_.x.masked_fill(input_.keep.logical_not().unsqueeze(-1), 0)
                             : input_.x;
    const at::Tensor weight = spec_.gate_weight.to(x.options()),
                     bias = spec_.gate_bias.to(x.options());
    at::Tensor gates = (at::einsum("bne,he->bhn", {x, weight}) + bias.view({1, -1, 1})).sigmoid();
    if (input_.keep.defined()) gates = gates.masked_fill(input_.keep.logical_not().unsqueeze(1), 1);
    const at::Tensor from_start = gates.log().cumsum(-1);
    const at::Tensor between = from_start.unsqueeze(-1) - from_start.unsqueeze(-2);
    return between.masked_fill(Hidden(), 0).exp() * (1 - gates).unsqueeze(-2);
  }

  // r(i, j), broadcastable to [B, H, N, Nk].
  at::Tensor Positional() const {
    const at::Tensor i = at::arange(n_, input_.q.options()).view({n_, 1}),
                     j = at::arange(keys_, input_.q.options());
    switch (spec_.reweighting) {
      case Reweighting::kNone:
        return at::ones({1}, input_.q.options());
      case Reweighting::kCosine:
        return Cosines();
      case Reweighting::kDecay:
        return at::exp((i - j).abs() * Decay().to(i.options()).view({-1, 1, 1}));
      case Reweighting::kGate:
        return Gates();
    }
    return {};
  }

  // |sum_j phi(k_j)| over the keys that a row sees, with the re-weighting applied to the keys, [B,
  // H, N, 1].
  at::Tensor KeySumNorms(const at::Tensor& k) const {
    at::Tensor seen = Hidden().logical_not().to(k.options());
    if (spec_.reweighting == Reweighting::kDecay) seen = seen * Positional();
    if (spec_.reweighting != Reweighting::kCosine) return at::matmul(seen, k).norm(2, -1, true);
    const at::Tensor angles =
        at::arange(keys_, input_.q.options().dtype(at::kDouble)).view({1, 1, -1, 1}) *
        RadiansPerToken();
    at::Tensor squares;
    for (const double frequency : spec_.frequencies) {
      for (const at::Tensor& factor : {at::cos(angles * frequency), at::sin(angles * frequency)}) {
        const at::Tensor sum = at::matmul(seen, k * factor.to(k.options()));
        const at::Tensor square = sum.square().sum(-1, true);
        squares = squares.defined() ? squares + square : square;
      }
    }
    return (squares / static_cast<double>(spec_.frequencies.size())).sqrt();
  }

  at::Tensor Normalise(const at::Tensor& weights, const at::Tensor& q, const at::Tensor& k) const {
    const at::Tensor v = Kept(input_.v), sum = weights.sum(-1, true);
    const at::Tensor counts =
        Hidden().logical_not().to(v.options()).sum(-1, true).clamp_min(1);  // [.., N, 1]
    at::Tensor divisor;
    switch (spec_.normalizer) {
      case RowNormalizer::kPlus:
        divisor = sum + spec_.epsilon;
        break;
      case RowNormalizer::kClamp:
        divisor = sum.clamp_min(spec_.epsilon);
        break;
      case RowNormalizer::kSignedFloor: {
        const at::Tensor norms = q.norm(2, -1, true) * KeySumNorms(k);
        const at::Tensor floor = (norms * spec_.floor_ratio).clamp_min(spec_.epsilon).detach();
        divisor = at::where(sum.abs() >= floor, sum, at::where(sum < 0, -floor, floor));
        break;
      }
      case RowNormalizer::kCountFloor:
        divisor =
            at::maximum(sum, (Positional() * Hidden().logical_not()).sum(-1, true) * spec_.epsilon);
        break;
      case RowNormalizer::kNone:
        divisor = at::ones_like(sum);
        break;
      case RowNormalizer::kKeyCount:
        divisor = counts;
        break;
      case RowNormalizer::kLengthPower: {
        const at::Tensor m = spec_.length_exponent.to(v.options()).view({1, -1, 1, 1});
        const at::Tensor power = 1 / (1 + at::exp(-m));
        divisor = at::pow(counts, power);
        if (!is_causal_ || !spec_.scales_values) break;
        const at::Tensor earlier = at::ones({keys_, keys_}, v.options()).tril();
        const at::Tensor kept = Kept(at::ones({v.size(0), 1, keys_, 1}, v.options()));
        return at::matmul(weights, v / at::pow(at::matmul(earlier, kept).clamp_min(1), power));
      }
    }
    const at::Tensor is_empty = divisor == 0;
    return (at::matmul(weights, v) / divisor.masked_fill(is_empty, 1)).masked_fill(is_empty, 0);
  }

  const FactorizedSpec& spec_;
  const AttentionInput& input_;
  const bool is_causal_;
  const int64_t n_, keys_;
};

}  // namespace

at::Tensor FactorizedAttention::Oracle(const AttentionInput& input) const {
  return Dense(spec_, input).Output();
}

}  // namespace lra
