#include "models/factorized/features.h"

#include <ATen/ATen.h>

#include <cmath>

#include "models/kernels/fused_random_features.h"
#include "models/kernels/random_features.h"

namespace lra::factorized {
namespace {

// x / sqrt(|x|^2 + epsilon), 0 for 0 / 0.
at::Tensor Unit(const at::Tensor& x, double epsilon) {
  const at::Tensor squares = x.square().sum(-1, true) + epsilon;
  return x * squares.masked_fill(squares == 0, 1).rsqrt();
}

// w . x^ for RFA: [B, H, N, M].
at::Tensor UnitProducts(const FactorizedSpec& spec, const at::Tensor& x) {
  const at::Tensor unit = Unit(x, 0);
  const int64_t heads = spec.projection_scale.size(0), width = spec.projection_scale.size(1);
  const at::Tensor scaled = unit * spec.projection_scale.to(x.options()).view({1, heads, 1, width});
  return at::matmul(scaled, spec.projection.to(x.options()).t());
}

// D^-1/4 of both sides: exp(q . k / sqrt(D)).
double KernelScale(const at::Tensor& x) { return std::pow(static_cast<double>(x.size(3)), -0.25); }

bool IsFused(const FactorizedSpec& spec, const AttentionInput& input) {
  return HasFusedFeatures(input.q) && HasFusedFeatures(input.k) &&
         (spec.feature == FactorizedFeature::kTrigonometric ||
          (spec.feature == FactorizedFeature::kPositiveRandom && spec.is_stabilised()));
}

// Features whose logarithm is known: log phi(x), without factors that a row sum cancels.
at::Tensor LogPhi(const FactorizedSpec& spec, const at::Tensor& x) {
  if (spec.feature == FactorizedFeature::kExp) return x;
  return LogPositiveFeatures(x * KernelScale(x), spec.projection,
                             spec.feature == FactorizedFeature::kHyperbolicRandom);
}

StableFeatures NonCausalStableFeatures(const FactorizedSpec& spec, const AttentionInput& input) {
  if (IsFused(spec, input)) {
    return FusedStableFeatures(input.q, input.k, input.keep, spec.projection, KernelScale(input.q));
  }
  // Selected before exp too: the gradient of exp(NaN) would be NaN times the core's zero.
  return MakeStableFeatures(LogPhi(spec, input.q), LogPhi(spec, SelectKeys(input.k, input.keep)),
                            input.keep);
}

// cos and sin of every frequency, side by side: [.., N, F] -> [.., N, 2 F frequencies].
at::Tensor Rotate(const FactorizedSpec& spec, const at::Tensor& features,
                  const at::Tensor& angles) {
  const at::Tensor shaped = angles.dim() == 1
                                ? angles.view({1, 1, -1, 1})
                                : (angles.dim() == 2 ? angles.unsqueeze(1) : angles).unsqueeze(-1);
  const double weight = std::sqrt(1.0 / static_cast<double>(spec.frequencies.size()));
  std::vector<at::Tensor> parts;
  for (const double frequency : spec.frequencies) {
    const at::Tensor scaled = shaped * frequency;
    parts.push_back(features * (scaled.cos() * weight).to(features.options()));
    parts.push_back(features * (scaled.sin() * weight).to(features.options()));
  }
  return at::cat(parts, -1);
}

// Whether the core's own cosine serves: one frequency, M not learned.
bool CoreRotates(const FactorizedSpec& spec) {
  return spec.frequencies == std::vector<double>{1.0} && !spec.learned_scale.defined();
}

void AddCosine(const FactorizedSpec& spec, const AttentionInput& input, const Offsets& offsets,
               Prepared* prepared) {
  const at::Tensor query = Angles(spec, input, input.q.size(2), offsets.query);
  const at::Tensor key = Angles(spec, input, input.k.size(2), offsets.key);
  if (CoreRotates(spec)) {
    prepared->core.query_angles = query;
    prepared->core.key_angles = key;
    return;
  }
  if (prepared->core.feature_map !=
      FeatureMap::kIdentity) {  // the core must not map what is rotated
    prepared->q = Phi(spec, prepared->q);
    prepared->k = Phi(spec, SelectKeys(prepared->k, input.keep));
    prepared->core.feature_map = FeatureMap::kIdentity;
  }
  prepared->q = Rotate(spec, prepared->q, query);
  prepared->k = Rotate(spec, prepared->k, key);
  at::Tensor& scale = prepared->core.state_scale;  // once for each part
  if (scale.defined())
    scale = scale.repeat({1, 1, 1, static_cast<int64_t>(2 * spec.frequencies.size())});
}

void AddGate(const FactorizedSpec& spec, const AttentionInput& input, Prepared* prepared) {
  const at::Tensor log_gates = LogGates(spec, input);  // [B, H, N]
  prepared->core.log_decay = log_gates;
  const at::Tensor share = -at::expm1(log_gates);  // 1 - g
  prepared->k = SelectKeys(prepared->k, input.keep) * share.unsqueeze(-1);
}

}  // namespace

FeatureMap CoreMap(FactorizedFeature feature) {
  switch (feature) {
    case FactorizedFeature::kRelu:
      return FeatureMap::kRelu;
    case FactorizedFeature::kLeakyRelu:
      return FeatureMap::kLeakyRelu;
    case FactorizedFeature::kEluPlusOne:
      return FeatureMap::kEluPlusOne;
    case FactorizedFeature::kUnit:
      return FeatureMap::kUnit;
    default:
      return FeatureMap::kIdentity;
  }
}

at::Tensor Phi(const FactorizedSpec& spec, const at::Tensor& x) {
  switch (spec.feature) {
    case FactorizedFeature::kIdentity:
      return x;
    case FactorizedFeature::kRelu:
      return x.relu();
    case FactorizedFeature::kLeakyRelu:
      return at::leaky_relu(x, spec.leaky_slope);
    case FactorizedFeature::kEluPlusOne:
      return x.clamp_min(0) + x.clamp_max(0).exp();
    case FactorizedFeature::kUnit:
      return Unit(x, spec.norm_epsilon);
    case FactorizedFeature::kSquaredRelu:
      return x.relu().square();
    case FactorizedFeature::kReluPlusFloor:
      return x.relu() + spec.feature_floor;
    case FactorizedFeature::kExp:
      return x.exp();
    case FactorizedFeature::kPositiveRandom:
    case FactorizedFeature::kHyperbolicRandom: {
      const at::Tensor features = LogPhi(spec, x).exp();
      return features / std::sqrt(static_cast<double>(features.size(-1)));
    }
    case FactorizedFeature::kTrigonometric: {
      const at::Tensor products = UnitProducts(spec, x);
      return at::cat({products.sin(), products.cos()}, -1) /
             std::sqrt(static_cast<double>(products.size(-1)));
    }
    case FactorizedFeature::kArcCosine: {
      const at::Tensor products = UnitProducts(spec, x);
      return products.relu() / std::sqrt(static_cast<double>(products.size(-1)));
    }
  }
  return x;
}

at::Tensor LogGates(const FactorizedSpec& spec, const AttentionInput& input) {
  TORCH_CHECK(input.x.defined(), "attention: a gate needs the layer input x [B, N, E]");
  at::Tensor x = input.x, masked;
  if (input.keep.defined()) {
    masked = input.keep.logical_not();
    x = x.masked_fill(masked.unsqueeze(-1), 0);
  }
  const at::Tensor logits = at::matmul(x, spec.gate_weight.to(x.options()).t()) +
                            spec.gate_bias.to(x.options());  // [B, N, H]
  const at::Tensor logs = at::log_sigmoid(logits).transpose(1, 2);
  return masked.defined() ? logs.masked_fill(masked.unsqueeze(1), 0) : logs;
}

bool KeepsFeatures(const FactorizedSpec& spec, const AttentionInput& input) {
  const int64_t parts = spec.feature == FactorizedFeature::kTrigonometric ? 2 : 1;
  return IsFused(spec, input) && !input.causal && spec.reweighting == Reweighting::kNone &&
         parts * spec.projection.size(0) <= 2 * spec.projection.size(1);
}

Prepared Prepare(const FactorizedSpec& spec, const AttentionInput& input, const Offsets& offsets,
                 const at::Tensor& running_max) {
  Prepared prepared;
  prepared.q = input.q;
  prepared.k = input.k;
  prepared.v = input.v;
  LinearAttentionSpec& core = prepared.core;
  core.causal = input.causal || spec.reweighting == Reweighting::kGate;
  core.feature_map = CoreMap(spec.feature);
  core.leaky_slope = spec.leaky_slope;
  core.norm_epsilon = spec.norm_epsilon;
  const bool is_made_here =
      core.feature_map == FeatureMap::kIdentity && spec.feature != FactorizedFeature::kIdentity;
  if (spec.is_stabilised()) {
    const StableFeatures features =
        core.causal && input.q.size(2) == input.k.size(2)
            ? CausalStableFeatures(LogPhi(spec, input.q),
                                   LogPhi(spec, SelectKeys(input.k, input.keep)), input.keep,
                                   running_max)
            : NonCausalStableFeatures(spec, input);
    prepared.q = features.query;
    prepared.k = features.key;
    core.state_scale = features.state_scale;
    prepared.running_max = features.running_max;
  } else if (spec.feature == FactorizedFeature::kTrigonometric && IsFused(spec, input)) {
    const auto features = [&](const at::Tensor& x, const at::Tensor& keep) {
      return FusedTrigonometricFeatures(x, keep, spec.projection, spec.projection_scale);
    };
    prepared.q = features(input.q, at::Tensor());
    prepared.k = features(input.k, input.keep);
  } else if (is_made_here) {
    prepared.q = Phi(spec, input.q);
    prepared.k = Phi(spec, SelectKeys(input.k, input.keep));
  }
  if (spec.reweighting == Reweighting::kCosine) AddCosine(spec, input, offsets, &prepared);
  if (spec.reweighting == Reweighting::kDecay) {
    core.log_decay = spec.log_decay.to(input.q.options())
                         .view({1, -1, 1})
                         .expand({1, spec.log_decay.size(0), input.q.size(2)});
  }
  if (spec.reweighting == Reweighting::kGate) AddGate(spec, input, &prepared);
  return prepared;
}

}  // namespace lra::factorized
