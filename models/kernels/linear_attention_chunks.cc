#include "models/kernels/linear_attention_chunks.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/elu_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/leaky_relu_backward.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/threshold_backward.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "models/kernels/head_rows.h"

namespace lra::linear_pieces {
namespace {

// Writes phi(x) to out, which has any strides.
void FeaturesTo(at::Tensor out, const at::Tensor& x, const LinearAttentionSpec& spec) {
  switch (spec.feature_map) {
    case FeatureMap::kEluPlusOne:
      // (max(x, 0) + 1) exp(min(x, 0)). The gradient of elu at x has the second factor.
      at::elu_backward_out(out, (x + 1).clamp_min_(1), 1, 1, 1, /*is_result=*/false, x);
      return;
    case FeatureMap::kRelu:
      at::clamp_min_out(out, x, 0);
      return;
    case FeatureMap::kLeakyRelu:
      at::leaky_relu_out(out, x, spec.leaky_slope);
      return;
    case FeatureMap::kIdentity:
      out.copy_(x);
      return;
    case FeatureMap::kUnit:
      at::mul_out(out, x, InverseNorms(x, spec));
      return;
  }
}

// Writes a gradient of phi(x), chained through phi, to out.
void GradientTo(at::Tensor out, const at::Tensor& gradient, const at::Tensor& x,
                const LinearAttentionSpec& spec) {
  switch (spec.feature_map) {
    case FeatureMap::kEluPlusOne:
      at::elu_backward_out(out, gradient, 1, 1, 1, /*is_result=*/false, x);
      return;
    case FeatureMap::kRelu:
      at::threshold_backward_out(out, gradient, x, 0);
      return;
    case FeatureMap::kLeakyRelu:
      at::leaky_relu_backward_out(out, gradient, x, spec.leaky_slope, /*self_is_result=*/false);
      return;
    case FeatureMap::kIdentity:
      out.copy_(gradient);
      return;
    case FeatureMap::kUnit: {
      const at::Tensor inverse = InverseNorms(x, spec), unit = x * inverse;
      const at::Tensor along = (gradient * unit).sum(-1, true);
      at::mul_out(out, at::addcmul(gradient, unit, along, -1), inverse);
      return;
    }
  }
}

// Dense [B, H, T C, width] with zeros behind the last token of `like` [B, H, N, *].
at::Tensor EmptyCut(const at::Tensor& like, int64_t width, const Cut& cut) {
  at::Tensor t = at::empty({like.size(0), like.size(1), cut.padded(), width}, like.options());
  if (cut.padded() > cut.tokens) t.narrow(2, cut.tokens, cut.padded() - cut.tokens).zero_();
  return t;
}

void Hide(at::Tensor t, const at::Tensor& hidden) {
  if (hidden.defined()) t.masked_fill_(hidden, 0);
}

at::Tensor States(const at::Tensor& features, const at::Tensor& values, bool has_sums) {
  at::Tensor states =
      at::empty({features.size(0), values.size(2) + (has_sums ? 1 : 0), features.size(2)},
                features.options());
  at::Tensor of_values = states.narrow(1, 0, values.size(2));
  at::bmm_out(of_values, values.transpose(1, 2), features);
  return states;
}

}  // namespace

Cut Cut::IntoChunks(int64_t tokens) {
  const int64_t size = std::max<int64_t>(1, std::min(tokens, kCausalChunkTokens));
  return {tokens, size, (tokens + size - 1) / size};
}

at::Tensor Chunked(const at::Tensor& t, const Cut& cut) {
  return t.view({t.size(0) * t.size(1) * cut.count, cut.size, t.size(3)});
}

at::Tensor Tokens(const at::Tensor& t, const at::Tensor& q, const Cut& cut) {
  return t.view({q.size(0), q.size(1), cut.padded(), t.size(-1)}).narrow(2, 0, cut.tokens);
}

Side QuerySide(const at::Tensor& q, const LinearAttentionSpec& spec) {
  return {q, Rotation(spec.query_angles, q), at::Tensor()};
}

Side KeySide(const at::Tensor& k, const at::Tensor& keep, const Side& query,
             const LinearAttentionSpec& spec) {
  at::Tensor hidden;
  if (keep.defined()) hidden = keep.logical_not().view({keep.size(0), 1, keep.size(1), 1});
  const bool is_shared = spec.key_angles.is_same(spec.query_angles);
  return {k, is_shared ? query.rotation : Rotation(spec.key_angles, k), hidden};
}

at::Tensor CutFeatures(const Side& side, const LinearAttentionSpec& spec, const Cut& cut) {
  const int64_t width = side.x.size(3);
  const bool is_rotated = side.rotation.cosine.defined();
  at::Tensor features = EmptyCut(side.x, is_rotated ? 2 * width : width, cut);
  at::Tensor to = features.narrow(2, 0, cut.tokens);
  if (!is_rotated) {
    FeaturesTo(to, side.x, spec);
    Hide(to, side.hidden);
    return features;
  }
  at::Tensor plain = at::empty_like(side.x), cosine = to.narrow(3, 0, width),
             sine = to.narrow(3, width, width);
  FeaturesTo(plain, side.x, spec);
  Hide(plain, side.hidden);
  at::mul_out(cosine, plain, side.rotation.cosine);
  at::mul_out(sine, plain, side.rotation.sine);
  return features;
}

at::Tensor ThroughCutFeatures(const at::Tensor& gradient, const Side& side,
                              const LinearAttentionSpec& spec) {
  const int64_t width = side.x.size(3);
  at::Tensor plain = gradient;
  if (side.rotation.cosine.defined()) {
    plain = at::addcmul(gradient.narrow(3, 0, width) * side.rotation.cosine,
                        gradient.narrow(3, width, width), side.rotation.sine);
  }
  const at::Tensor result = EmptyHeads(side.x, width);
  GradientTo(result, plain, side.x, spec);
  Hide(result, side.hidden);
  return result;
}

at::Tensor CutTokens(const at::Tensor& t, const at::Tensor& factor, const at::Tensor& hidden,
                     const Cut& cut) {
  at::Tensor result = EmptyCut(t, t.size(3), cut), to = result.narrow(2, 0, cut.tokens);
  if (!factor.defined() && hidden.defined()) {  // one pass
    at::where_out(to, hidden, at::zeros({}, t.options()), t);
    return result;
  }
  if (factor.defined()) {
    at::mul_out(to, t, factor);
  } else {
    to.copy_(t);
  }
  Hide(to, hidden);
  return result;
}

at::Tensor Divided(const at::Tensor& sums, const Normalizer& normalizer) {
  at::Tensor output = EmptyHeads(sums, sums.size(3));
  if (normalizer.inverse.defined()) {
    at::mul_out(output, sums, normalizer.inverse.unsqueeze(-1));
  } else {
    output.copy_(sums);
  }
  return output;
}

WeightedRows Chunked(const WeightedRows& rows, const Cut& cut) {
  return {Chunked(rows.values, cut), rows.sums.defined() ? Chunked(rows.sums, cut) : rows.sums};
}

WeightedRows ThroughDivision(const at::Tensor& gradient, const at::Tensor& output,
                             const Normalizer& normalizer, const Cut& cut) {
  if (!normalizer.inverse.defined())
    return {CutTokens(gradient, at::Tensor(), at::Tensor(), cut), at::Tensor()};
  return {CutTokens(gradient, normalizer.inverse.unsqueeze(-1), at::Tensor(), cut),
          CutTokens(RowSumGradient(gradient, output, normalizer), at::Tensor(), at::Tensor(), cut)};
}

at::Tensor ValueStates(const at::Tensor& features, const at::Tensor& v,
                       const LinearAttentionSpec& spec) {
  const bool has_sums = spec.denominator != Denominator::kNone;
  const at::Tensor states = States(features, v, has_sums);
  at::Tensor sums = PartsOf(states, v.size(2)).sums;
  if (has_sums) at::sum_out(sums, features, 1, /*keepdim=*/true);
  return states;
}

at::Tensor GradientStates(const at::Tensor& features, const WeightedRows& rows) {
  const at::Tensor states = States(features, rows.values, rows.sums.defined());
  at::Tensor sums = PartsOf(states, rows.values.size(2)).sums;
  if (rows.sums.defined()) at::bmm_out(sums, rows.sums.transpose(1, 2), features);
  return states;
}

StateParts PartsOf(const at::Tensor& states, int64_t value_width) {
  StateParts parts;
  parts.values = states.narrow(1, 0, value_width);
  if (states.size(1) > value_width) parts.sums = states.narrow(1, value_width, 1);
  return parts;
}

}  // namespace lra::linear_pieces
