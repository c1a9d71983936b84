#include "models/factorized/factorized_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "lra/check.h"
#include "models/factorized/recompute.h"
#include "models/factorized/tables.h"
#include "models/kernels/causal_linear_attention.h"
#include "models/kernels/select_kept.h"

namespace lra {

using factorized::Offsets;
using factorized::Prepared;

namespace {

// Places in AttentionState::tensors.
enum : size_t { kKeySums, kRunningMax, kKeysSeen, kReweightingSums, kStateTensors };

at::Tensor WithOnes(const at::Tensor& v) {  // [.., Dv + 1]
  return at::cat({v, at::ones_like(v.narrow(-1, 0, 1))}, -1);
}

// Returns seen^-sigmoid(m) for each head, with seen [B or 1, 1, N or 1, 1].
at::Tensor LengthPower(const FactorizedSpec& spec, const at::Tensor& seen, const at::Tensor& like) {
  const at::Tensor power = at::sigmoid(spec.length_exponent.to(at::kDouble)).view({1, -1, 1, 1});
  return at::exp(-power * seen.log()).to(like.options());
}

// Divides sums [.., Dv + 1] by their last column, the row sum, made safe by the normaliser, and
// returns [.., Dv]. `floor` is that of kSignedFloor or kCountFloor, and otherwise not read.
at::Tensor Divide(const FactorizedSpec& spec, const at::Tensor& sums, const at::Tensor& floor) {
  const int64_t width = sums.size(-1) - 1;
  const at::Tensor sum = sums.narrow(-1, width, 1);
  at::Tensor safe = sum;
  switch (spec.normalizer) {
    case RowNormalizer::kPlus:
      safe = sum + spec.epsilon;
      break;
    case RowNormalizer::kClamp:
      safe = sum.clamp_min(spec.epsilon);
      break;
    case RowNormalizer::kCountFloor:
      safe = at::maximum(sum, floor);
      break;
    default:
      safe = at::where(sum.abs() >= floor, sum, at::where(sum < 0, -floor, floor));
  }
  return sums.narrow(-1, 0, width) / safe.masked_fill(safe.abs() < SmallestRowSum(safe), 1);
}

// LinearAttention(), or its continuation where there is a state.
at::Tensor Run(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
               const at::Tensor& keep, const LinearAttentionSpec& core, at::Tensor* state) {
  if (state == nullptr) return LinearAttention(q, k, v, keep, core);
  return ExtendLinearAttention(q, k, v, keep, core, state);
}

// sum_j r(i, j) of the causal form with a decay or gates, [B, H, N, 1]: its row sums if all
// products of features were 1.
at::Tensor ReweightingSums(const FactorizedSpec& spec, const at::Tensor& keep,
                           const Prepared& prepared, at::Tensor* state) {
  LinearAttentionSpec core;
  core.feature_map = FeatureMap::kIdentity;
  core.denominator = Denominator::kNone;
  core.causal = true;
  core.log_decay = prepared.core.log_decay;
  const at::Tensor ones = at::ones_like(prepared.v.narrow(-1, 0, 1));
  const bool is_gated = spec.reweighting == Reweighting::kGate;
  return Run(ones, is_gated ? ones * factorized::GateShares(core.log_decay) : ones, ones, keep,
             core, state);
}

}  // namespace

FactorizedAttention::FactorizedAttention(FactorizedSpec spec, Traits traits)
    : spec_(std::move(spec)), traits_(std::move(traits)) {}

at::Tensor FactorizedAttention::Attend(const AttentionInput& input) const {
  if (!spec_.projection.defined() || !c10::GradMode::is_enabled() ||
      factorized::KeepsFeatures(spec_, input)) {
    return AttendAtOnce(input);
  }
  // Features that are much wider than q and k are not kept for the backward, and are made for a
  // group of heads at a time.
  const factorized::AttendHeads attend = [](const FactorizedSpec& spec,
                                            const AttentionInput& part) {
    return FactorizedAttention(spec, Traits()).AttendAtOnce(part);
  };
  return factorized::AttendByHeads(attend, spec_, input);
}

at::Tensor FactorizedAttention::AttendAtOnce(const AttentionInput& input) const {
  const Offsets offsets = factorized::OffsetsOf(input);
  Prepared prepared = factorized::Prepare(spec_, input, offsets, at::Tensor());
  if (spec_.reweighting == Reweighting::kDecay && !input.causal)
    return AttendBothWays(input, std::move(prepared));
  return Finish(input, offsets, std::move(prepared), nullptr);
}

at::Tensor FactorizedAttention::Finish(const AttentionInput& input, const Offsets& offsets,
                                       Prepared prepared, AttentionState* state) const {
  LinearAttentionSpec& core = prepared.core;
  core.denominator = factorized::RowOf(spec_.normalizer).core;
  core.epsilon = spec_.epsilon;
  core.floor_ratio = spec_.floor_ratio;
  const auto part = [&](size_t i) { return state != nullptr ? &state->tensors[i] : nullptr; };
  const auto run = [&](const at::Tensor& v) {
    return Run(prepared.q, prepared.k, v, input.keep, core, part(kKeySums));
  };
  AttentionInput visible = input;
  visible.causal = core.causal;
  const auto seen = [&] { return factorized::SeenByQueries(visible, offsets); };
  switch (spec_.normalizer) {
    case RowNormalizer::kKeyCount:
      return run(prepared.v) / seen().to(prepared.v.options());
    case RowNormalizer::kCountFloor: {
      if (!core.causal) {  // each example has one floor
        core.denominator = Denominator::kClamp;
        core.floors = (seen() * spec_.epsilon).view({-1}).expand({input.q.size(0)});
        return run(prepared.v);
      }
      const at::Tensor counts =
          spec_.reweighting == Reweighting::kNone
              ? seen()
              : ReweightingSums(spec_, input.keep, prepared, part(kReweightingSums));
      return Divide(spec_, run(WithOnes(prepared.v)),
                    (counts * spec_.epsilon).to(prepared.v.options()));
    }
    case RowNormalizer::kLengthPower:
      if (core.causal && spec_.scales_values) {
        const at::Tensor at_keys = factorized::SeenByKeys(visible, offsets);
        return run(prepared.v * LengthPower(spec_, at_keys, prepared.v));
      }
      return run(prepared.v) * LengthPower(spec_, seen(), prepared.v);
    default:
      return run(prepared.v);
  }
}

at::Tensor FactorizedAttention::AttendBothWays(const AttentionInput& input,
                                               Prepared prepared) const {
  factorized::MapBeforeCore(spec_, input.keep, &prepared);
  LinearAttentionSpec core = prepared.core;
  core.causal = true;
  core.denominator = Denominator::kNone;
  const auto flip = [](const at::Tensor& t) { return t.flip(2); };
  const at::Tensor flipped_keep = input.keep.defined() ? input.keep.flip(1) : input.keep;
  // Both directions see the token itself, so its own part is subtracted once.
  const auto sums = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    const at::Tensor own = (q * k).sum(-1, true) * v;
    return LinearAttention(q, k, v, input.keep, core) +
           flip(LinearAttention(flip(q), flip(k), flip(v), flipped_keep, core)) -
           SelectKept(own, input.keep);
  };
  const at::Tensor v = SelectKept(prepared.v, input.keep), k = SelectKept(prepared.k, input.keep);
  const at::Tensor seen = factorized::SeenByQueries(input, Offsets()).to(v.options());
  if (spec_.normalizer == RowNormalizer::kNone) return sums(prepared.q, k, v);
  if (spec_.normalizer == RowNormalizer::kKeyCount) return sums(prepared.q, k, v) / seen;
  if (spec_.normalizer == RowNormalizer::kLengthPower)
    return sums(prepared.q, k, v) * LengthPower(spec_, seen.to(at::kDouble), v);
  const at::Tensor one = at::ones_like(v.narrow(-1, 0, 1));
  at::Tensor floor;
  if (spec_.normalizer == RowNormalizer::kCountFloor) floor = sums(one, one, one) * spec_.epsilon;
  if (spec_.normalizer == RowNormalizer::kSignedFloor) {
    const c10::NoGradGuard no_grad;
    const at::Tensor norms = prepared.q.norm(2, -1, true) * sums(one, one, k).norm(2, -1, true);
    floor = (norms * spec_.floor_ratio).clamp_min(spec_.epsilon);
  }
  return Divide(spec_, sums(prepared.q, k, WithOnes(v)), floor);
}

AttentionState FactorizedAttention::InitState(int64_t batch,
                                              const at::TensorOptions& options) const {
  AttentionState state;
  state.tensors.resize(kStateTensors);
  state.tensors[kKeysSeen] = at::zeros({batch}, options.dtype(at::kDouble));
  return state;
}

at::Tensor FactorizedAttention::Extend(const AttentionInput& piece, AttentionState* state) const {
  LRA_CHECK(traits_.supports_streaming);
  const c10::NoGradGuard no_grad;
  AttentionInput input = piece;
  input.causal = true;
  at::Tensor& seen = state->tensors[kKeysSeen];
  const Offsets offsets = {state->tokens, state->tokens, seen};
  Prepared prepared = factorized::Prepare(spec_, input, offsets, state->tensors[kRunningMax]);
  state->tensors[kRunningMax] = prepared.running_max;
  const at::Tensor output = Finish(input, offsets, std::move(prepared), state);
  const double tokens = static_cast<double>(piece.q.size(2));
  seen = seen + (piece.keep.defined() ? piece.keep.sum(1).to(at::kDouble)
                                      : at::full({1}, tokens, seen.options()));
  state->tokens += piece.q.size(2);
  return output;
}

at::Tensor FactorizedAttention::RowScale(const AttentionInput& input, const at::Tensor& query,
                                         const at::Tensor& key) const {
  const at::Tensor total = key.sum(2, /*keepdim=*/true);
  const at::Tensor sum = (query * total).sum(-1, /*keepdim=*/true);
  const at::Tensor seen = factorized::SeenByQueries(input, Offsets()), ones = at::ones_like(sum);
  at::Tensor floor;
  switch (spec_.normalizer) {
    case RowNormalizer::kNone:
      return ones;
    case RowNormalizer::kKeyCount:
      return ones / seen;
    case RowNormalizer::kLengthPower:
      return ones * LengthPower(spec_, seen, ones);
    case RowNormalizer::kSignedFloor:
      floor = (query.norm(2, -1, true) * total.norm(2, -1, true) * spec_.floor_ratio)
                  .clamp_min(spec_.epsilon);
      break;
    default:
      floor = seen * spec_.epsilon;
  }
  return Divide(spec_, at::cat({ones, sum}, -1), floor);
}

std::optional<WeightFeatures> FactorizedAttention::Features(const AttentionInput& input) const {
  const c10::NoGradGuard no_grad;
  AttentionInput wide = input;
  wide.q = input.q.to(at::kDouble);
  wide.k = input.k.to(at::kDouble);
  wide.v = wide.k;
  if (input.x.defined()) wide.x = input.x.to(at::kDouble);
  wide.causal = false;  // features that are not scaled chunk by chunk
  Prepared prepared = factorized::Prepare(spec_, wide, factorized::OffsetsOf(input), at::Tensor());
  factorized::RotateBeforeCore(spec_, input.keep, &prepared);
  factorized::MapBeforeCore(spec_, input.keep, &prepared);
  WeightFeatures features;
  features.query = prepared.q;
  features.key = SelectKept(prepared.k, input.keep);
  features.log_decay = prepared.core.log_decay;
  features.is_causal = prepared.core.causal || input.causal;
  features.has_negative_weights = HasNegativeWeights(spec_);
  if (features.is_causal && spec_.scales_values) {
    const at::Tensor at_keys = factorized::SeenByKeys(wide, Offsets());
    features.key = features.key * LengthPower(spec_, at_keys, features.key);
  }
  if (!features.is_causal && !features.log_decay.defined())
    features.scale = RowScale(wide, features.query, features.key);
  return features;
}

std::vector<LearnedNumber> FactorizedAttention::LearnedNumbers() const {
  std::vector<LearnedNumber> numbers;
  const auto add = [&](const char* name, const at::Tensor& values) {
    const at::Tensor host = values.detach().cpu();
    for (int64_t head = 0; head < host.size(0); ++head)
      numbers.push_back({name, head, host[head].item<double>()});
  };
  if (spec_.learned_scale.defined() && spec_.reweighting == Reweighting::kCosine) {
    add("scale_tokens",
        static_cast<double>(spec_.scale_tokens) * (spec_.learned_scale.to(at::kDouble).exp() + 1));
  }
  if (spec_.learned_scale.defined() && spec_.reweighting == Reweighting::kDecay)
    add("half_life_tokens", -std::log(2.0) / factorized::LogDecay(spec_));
  if (spec_.length_exponent.defined())
    add("length_power", at::sigmoid(spec_.length_exponent.to(at::kDouble)));
  return numbers;
}

}  // namespace lra
