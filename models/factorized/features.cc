#include "models/factorized/features.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/matmul.h>

#include <cmath>

#include "models/factorized/tables.h"
#include "models/kernels/fused_random_features.h"
#include "models/kernels/random_features.h"
#include "models/kernels/select_kept.h"

namespace lra::factorized {
namespace {

bool IsFused(const FactorizedSpec& spec, const AttentionInput& input) {
  const FeatureRow& row = RowOf(spec.feature);
  return row.is_fused && (row.log_phi == nullptr || IsStabilised(spec)) &&
         HasFusedFeatures(input.q, input.k);
}

at::Tensor Phi(const FactorizedSpec& spec, const at::Tensor& x) {
  return RowOf(spec.feature).phi(spec, x);
}

StableFeatures NonCausalStableFeatures(const FactorizedSpec& spec, const AttentionInput& input) {
  if (IsFused(spec, input)) {
    return FusedStableFeatures(input.q, input.k, input.keep, spec.projection, KernelScale(input.q));
  }
  // Selected before exp too: the gradient of exp(NaN) would be NaN times the core's zero.
  const FeatureFunction log_phi = RowOf(spec.feature).log_phi;
  return MakeStableFeatures(log_phi(spec, input.q), log_phi(spec, SelectKept(input.k, input.keep)),
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
  // One tensor where it can be, so that the core makes one table of cosines and sines.
  const bool is_shared = input.q.size(2) == input.k.size(2) && offsets.query == offsets.key &&
                         !spec.learned_scale.defined();
  const at::Tensor key = is_shared ? query : Angles(spec, input, input.k.size(2), offsets.key);
  prepared->core.query_angles = query;
  prepared->core.key_angles = key;
  if (CoreRotates(spec)) return;
  RotateBeforeCore(spec, input.keep, prepared);
  at::Tensor& scale = prepared->core.state_scale;  // once for each part
  if (scale.defined())
    scale = scale.repeat({1, 1, 1, static_cast<int64_t>(2 * spec.frequencies.size())});
}

void AddGate(const FactorizedSpec& spec, const AttentionInput& input, Prepared* prepared) {
  const at::Tensor log_gates = LogGates(spec, input);  // [B, H, N]
  prepared->core.log_decay = log_gates;
  prepared->k = SelectKept(prepared->k, input.keep) * GateShares(log_gates);
}

}  // namespace

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

at::Tensor GateShares(const at::Tensor& log_gates) { return (-at::expm1(log_gates)).unsqueeze(-1); }

void MapBeforeCore(const FactorizedSpec& spec, const at::Tensor& keep, Prepared* prepared) {
  if (prepared->core.feature_map == FeatureMap::kIdentity) return;
  prepared->q = Phi(spec, prepared->q);
  prepared->k = Phi(spec, SelectKept(prepared->k, keep));
  prepared->core.feature_map = FeatureMap::kIdentity;
}

void RotateBeforeCore(const FactorizedSpec& spec, const at::Tensor& keep, Prepared* prepared) {
  LinearAttentionSpec& core = prepared->core;
  if (!core.query_angles.defined()) return;
  MapBeforeCore(spec, keep, prepared);  // the core must not map what is rotated
  prepared->q = Rotate(spec, prepared->q, core.query_angles);
  prepared->k = Rotate(spec, prepared->k, core.key_angles);
  core.query_angles = core.key_angles = at::Tensor();
}

bool KeepsFeatures(const FactorizedSpec& spec, const AttentionInput& input) {
  return IsFused(spec, input) && !input.causal && spec.reweighting == Reweighting::kNone &&
         RowOf(spec.feature).features_per_direction * spec.projection.size(0) <=
             2 * spec.projection.size(1);
}

Prepared Prepare(const FactorizedSpec& spec, const AttentionInput& input, const Offsets& offsets,
                 const at::Tensor& running_max) {
  Prepared prepared;
  prepared.q = input.q;
  prepared.k = input.k;
  prepared.v = input.v;
  LinearAttentionSpec& core = prepared.core;
  core.causal = input.causal || spec.reweighting == Reweighting::kGate;
  const FeatureRow& row = RowOf(spec.feature);
  core.feature_map = row.core.value_or(FeatureMap::kIdentity);
  core.leaky_slope = spec.leaky_slope;
  core.norm_epsilon = spec.norm_epsilon;
  if (IsStabilised(spec)) {
    const StableFeatures features =
        core.causal && input.q.size(2) == input.k.size(2)
            ? CausalStableFeatures(row.log_phi(spec, input.q),
                                   row.log_phi(spec, SelectKept(input.k, input.keep)), input.keep,
                                   running_max)
            : NonCausalStableFeatures(spec, input);
    prepared.q = features.query;
    prepared.k = features.key;
    core.state_scale = features.state_scale;
    core.chunk_starts = features.chunk_starts;
    prepared.running_max = features.running_max;
  } else if (IsFused(spec, input)) {  // the fused ones that need no stabiliser: kTrigonometric
    const auto features = [&](const at::Tensor& x, const at::Tensor& keep) {
      return FusedTrigonometricFeatures(x, keep, spec.projection, spec.projection_scale);
    };
    prepared.q = features(input.q, at::Tensor());
    prepared.k = features(input.k, input.keep);
  } else if (!row.core) {
    prepared.q = row.phi(spec, input.q);
    prepared.k = row.phi(spec, SelectKept(input.k, input.keep));
  }
  if (spec.reweighting == Reweighting::kCosine) AddCosine(spec, input, offsets, &prepared);
  if (spec.reweighting == Reweighting::kDecay) {
    core.log_decay = LogDecay(spec)
                         .to(input.q.options())
                         .view({1, -1, 1})
                         .expand({1, spec.log_decay.size(0), input.q.size(2)});
  }
  if (spec.reweighting == Reweighting::kGate) AddGate(spec, input, &prepared);
  return prepared;
}

}  // namespace lra::factorized
