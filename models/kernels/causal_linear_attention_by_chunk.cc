// The causal form chunk by chunk, and its continuation; see causal_linear_attention.h.

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "models/kernels/causal_linear_attention.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/linear_attention_pieces.h"

namespace lra {
namespace {

using internal::CausalGradients;
using internal::CausalState;
using linear_pieces::Features;
using linear_pieces::Kept;
using linear_pieces::Normalize;
using linear_pieces::Normalizer;
using linear_pieces::Rotation;
using linear_pieces::RowFloors;
using linear_pieces::RowSumGradient;
using linear_pieces::ThroughFeatures;
using linear_pieces::ValuesWithOnes;

// Tokens [first, first + size) of everything, ready to multiply.
struct Chunk {
  int64_t index, first, size;
  at::Tensor a, c;       // phi(q), phi(k): [B, H, C, D]
  at::Tensor values;     // [B, H, C, Dv + 1]
  at::Tensor reweights;  // what multiplies a c^T: [.., C, C], zero above the diagonal
  Rotation query, key;   // angles
  // Decay from the chunk's start to each token, from each token to its end, and over all of it:
  // [.., C, 1], [.., C, 1], [.., 1, 1]. Undefined = 1.
  at::Tensor to_token, from_token, over;
};

at::Tensor Times(const at::Tensor& t, const at::Tensor& factor) {
  return factor.defined() ? t * factor : t;
}

// t [B, H, C, *] times a factor [B, H, C] of its rows.
at::Tensor TimesRows(const at::Tensor& t, const at::Tensor& factor) {
  return factor.defined() ? t * factor.unsqueeze(-1) : t;
}

at::Tensor Slice(const at::Tensor& t, int64_t dim, int64_t first, int64_t size) {
  return t.defined() ? t.narrow(dim, first, size) : t;
}

class Chunks {
 public:
  Chunks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& keep,
         const LinearAttentionSpec& spec)
      : q_(q), k_(k), v_(v), keep_(keep), spec_(spec) {}

  int64_t count() const {
    if (!spec_.chunk_starts.empty()) return static_cast<int64_t>(spec_.chunk_starts.size());
    return (q_.size(2) + kCausalChunkTokens - 1) / kCausalChunkTokens;
  }

  Chunk Load(int64_t index) const {
    const int64_t first = Start(index), size = Start(index + 1) - first;
    const at::Tensor keep = Slice(keep_, 1, first, size);
    const auto angles = [&](const at::Tensor& t) { return Slice(t, -1, first, size); };
    Chunk chunk = {index,
                   first,
                   size,
                   {},
                   {},
                   {},
                   {},
                   Rotation(angles(spec_.query_angles), q_),
                   Rotation(angles(spec_.key_angles), q_),
                   {},
                   {},
                   {}};
    chunk.a = Features(q_.narrow(2, first, size), spec_);
    chunk.c = Kept(Features(k_.narrow(2, first, size), spec_), keep);
    chunk.values = ValuesWithOnes(v_.narrow(2, first, size), keep);
    AddReweights(&chunk);
    return chunk;
  }

  // The state on entering the chunk.
  at::Tensor Enter(const Chunk& chunk, const at::Tensor& state) const {
    if (!state.defined() || !spec_.state_scale.defined()) return state;
    return state * spec_.state_scale.select(2, chunk.index).unsqueeze(-1);
  }

  // sum over all tokens so far of w_ij [v_j, 1]: [B, H, C, Dv + 1].
  at::Tensor Sums(const Chunk& chunk, const at::Tensor& state) const {
    const at::Tensor inner =
        at::matmul(at::matmul(chunk.a, chunk.c.transpose(-1, -2)) * chunk.reweights, chunk.values);
    if (!state.defined()) return inner;
    return inner + Times(chunk.query.Fold(at::matmul(chunk.a, state)), chunk.to_token);
  }

  // The state on leaving the chunk.
  at::Tensor Leave(const Chunk& chunk, const at::Tensor& state) const {
    const at::Tensor added = at::matmul(Times(chunk.c, chunk.from_token).transpose(-1, -2),
                                        chunk.key.Expand(chunk.values));
    return state.defined() ? Times(state, chunk.over) + added : added;
  }

  // |sum_{j <= i} phi(k_j)| for the floor of signed sums: [B, H, C].
  at::Tensor KeySumNorms(const Chunk& chunk, const at::Tensor& state) const {
    if (spec_.denominator != Denominator::kSignedFloor) return at::Tensor();
    at::Tensor squares;
    const int64_t parts = chunk.key.cosine.defined() ? 2 : 1;
    const at::Tensor triangle = Triangle(chunk);
    for (int64_t part = 0; part < parts; ++part) {
      at::Tensor features = chunk.c;
      if (parts == 2) features = features * (part == 0 ? chunk.key.cosine : chunk.key.sine);
      at::Tensor sum = at::matmul(triangle, features);  // [B, H, C, D]
      if (state.defined()) {
        const int64_t ones = state.size(-1) / parts * (part + 1) - 1;
        sum = sum + Times(state.select(-1, ones).unsqueeze(-2), chunk.to_token);
      }
      const at::Tensor square = sum.square().sum(-1);
      squares = part == 0 ? square : squares + square;
    }
    return squares.sqrt();
  }

 private:
  // Where a chunk begins; the one behind the last begins at the end.
  int64_t Start(int64_t index) const {
    if (index >= count()) return q_.size(2);
    return spec_.chunk_starts.empty() ? index * kCausalChunkTokens : spec_.chunk_starts[index];
  }

  // Decays from j to i, zero above the diagonal: [.., C, C].
  at::Tensor Triangle(const Chunk& chunk) const {
    const at::Tensor later =
        at::ones({chunk.size, chunk.size}, q_.options().dtype(at::kBool)).triu(1);
    if (!spec_.log_decay.defined()) return at::ones_like(later, q_.options()).masked_fill(later, 0);
    const at::Tensor logs = LogDecays(chunk);
    return (logs.unsqueeze(-1) - logs.unsqueeze(-2))
        .masked_fill(later, -std::numeric_limits<double>::infinity())
        .exp();
  }

  // sum of log g from the chunk's start to each token: [B or 1, H, C].
  at::Tensor LogDecays(const Chunk& chunk) const {
    return spec_.log_decay.detach().narrow(-1, chunk.first, chunk.size).cumsum(-1);
  }

  void AddReweights(Chunk* chunk) const {
    chunk->reweights = Triangle(*chunk);
    if (spec_.query_angles.defined()) {
      const auto slice = [&](const at::Tensor& t) {
        return t.narrow(-1, chunk->first, chunk->size);
      };
      at::Tensor cosine =
          at::cos(slice(spec_.query_angles).unsqueeze(-1) - slice(spec_.key_angles).unsqueeze(-2))
              .to(q_.options());
      if (cosine.dim() == 3) cosine = cosine.unsqueeze(1);  // [B, 1, C, C]
      chunk->reweights = chunk->reweights * cosine;
    }
    if (!spec_.log_decay.defined()) return;
    const at::Tensor logs = LogDecays(*chunk);
    const at::Tensor last = logs.narrow(-1, chunk->size - 1, 1);
    chunk->to_token = logs.exp().unsqueeze(-1);
    chunk->from_token = (last - logs).exp().unsqueeze(-1);
    chunk->over = last.exp().unsqueeze(-1);
  }

  const at::Tensor q_, k_, v_, keep_;
  const LinearAttentionSpec& spec_;
};

// Normalises the rows of a chunk.
Normalizer NormalizerOf(const Chunk& chunk, const at::Tensor& row_sum, const at::Tensor& norms,
                        const LinearAttentionSpec& spec) {
  at::Tensor floors;
  if (norms.defined()) floors = RowFloors(chunk.a.square().sum(-1).sqrt(), norms, spec);
  return Normalize(row_sum, floors, spec);
}

CausalState Forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const at::Tensor& keep, const LinearAttentionSpec& spec, at::Tensor* state) {
  const Chunks chunks(q, k, v, keep, spec);
  CausalState outcome;
  outcome.output = EmptyHeads(q, v.size(3));
  outcome.row_sum = at::empty({q.size(0), q.size(1), q.size(2)}, q.options());
  if (spec.denominator == Denominator::kSignedFloor)
    outcome.key_sum_norms = at::empty_like(outcome.row_sum);
  for (int64_t t = 0; t < chunks.count(); ++t) {
    const Chunk chunk = chunks.Load(t);
    *state = chunks.Enter(chunk, *state);
    const at::Tensor sums = chunks.Sums(chunk, *state), norms = chunks.KeySumNorms(chunk, *state);
    const at::Tensor row_sum = sums.select(-1, v.size(3));
    const at::Tensor inverse = NormalizerOf(chunk, row_sum, norms, spec).inverse;
    outcome.output.narrow(2, chunk.first, chunk.size)
        .copy_(TimesRows(sums.narrow(-1, 0, v.size(3)), inverse));
    outcome.row_sum.narrow(2, chunk.first, chunk.size).copy_(row_sum);
    if (norms.defined()) outcome.key_sum_norms.narrow(2, chunk.first, chunk.size).copy_(norms);
    *state = chunks.Leave(chunk, *state);
  }
  return outcome;
}

// What the backward of a chunk needs of the rows' upstream gradient: d [sum w v, sum w].
at::Tensor SumGradients(const Chunk& chunk, const at::Tensor& gradient, const CausalState& outcome,
                        const LinearAttentionSpec& spec) {
  const auto rows = [&](const at::Tensor& t) { return Slice(t, 2, chunk.first, chunk.size); };
  const Normalizer normalizer =
      NormalizerOf(chunk, rows(outcome.row_sum), rows(outcome.key_sum_norms), spec);
  const at::Tensor g = rows(gradient);
  const at::Tensor of_sum = normalizer.inverse.defined()
                                ? RowSumGradient(g, rows(outcome.output), normalizer)
                                : at::zeros_like(g.narrow(-1, 0, 1));
  return at::cat({TimesRows(g, normalizer.inverse), of_sum}, -1);
}

class Backward {
 public:
  Backward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& keep,
           const LinearAttentionSpec& spec, const CausalState& outcome, const at::Tensor& gradient)
      : q_(q),
        k_(k),
        v_(v),
        keep_(keep),
        spec_(spec),
        outcome_(outcome),
        gradient_(gradient),
        chunks_(q, k, v, keep, spec) {
    result_ = {EmptyHeads(q, q.size(3)), EmptyHeads(k, k.size(3)), EmptyHeads(v, v.size(3)), {}};
    if (spec.log_decay.defined())
      log_position_ = at::empty({q.size(0), q.size(1), q.size(2)}, q.options());
  }

  CausalGradients Run() {
    std::vector<at::Tensor> states(chunks_.count());  // on entering each chunk
    at::Tensor state;
    for (int64_t t = 0; t + 1 < chunks_.count(); ++t) {
      const Chunk chunk = chunks_.Load(t);
      states[t] = chunks_.Enter(chunk, state);
      state = chunks_.Leave(chunk, states[t]);
    }
    at::Tensor state_gradient;  // of the state on leaving the chunk
    for (int64_t t = chunks_.count() - 1; t >= 0; --t) {
      const Chunk chunk = chunks_.Load(t);
      if (t > 0 && t + 1 == chunks_.count()) states[t] = chunks_.Enter(chunk, state);
      state_gradient = OfChunk(chunk, states[t], state_gradient);
      states[t] = at::Tensor();
    }
    if (spec_.log_decay.defined())
      result_.log_decay = internal::LogDecayGradient(log_position_, spec_.log_decay.sizes());
    return result_;
  }

 private:
  // Returns the gradient of the state that the chunk before leaves.
  at::Tensor OfChunk(const Chunk& chunk, const at::Tensor& state, const at::Tensor& leaving) {
    const at::Tensor upstream = SumGradients(chunk, gradient_, outcome_, spec_);  // [.., Dv + 1]
    const at::Tensor weights =
        at::matmul(chunk.a, chunk.c.transpose(-1, -2)) * chunk.reweights;  // [.., C, C]
    const at::Tensor products =
        at::matmul(upstream, chunk.values.transpose(-1, -2)) * chunk.reweights;
    const at::Tensor outer = Times(chunk.query.Expand(upstream), chunk.to_token);
    at::Tensor da = at::matmul(products, chunk.c);
    at::Tensor dc = at::matmul(products.transpose(-1, -2), chunk.a);
    at::Tensor dv = at::matmul(weights.transpose(-1, -2), upstream);
    if (state.defined()) da = da + at::matmul(outer, state.transpose(-1, -2));
    if (leaving.defined()) {
      const at::Tensor values = chunk.key.Expand(chunk.values);
      dc = dc + Times(at::matmul(values, leaving.transpose(-1, -2)), chunk.from_token);
      dv = dv + chunk.key.Fold(at::matmul(Times(chunk.c, chunk.from_token), leaving));
    }
    Store(chunk, da, dc, dv);
    at::Tensor entering = at::matmul(chunk.a.transpose(-1, -2), outer);
    if (leaving.defined()) entering = entering + Times(leaving, chunk.over);
    return chunks_.Enter(chunk, entering);  // the scale is its own adjoint
  }

  void Store(const Chunk& chunk, const at::Tensor& da, const at::Tensor& dc, const at::Tensor& dv) {
    const auto rows = [&](const at::Tensor& t) { return Slice(t, 2, chunk.first, chunk.size); };
    const at::Tensor keep = Slice(keep_, 1, chunk.first, chunk.size);
    rows(result_.q).copy_(ThroughFeatures(da, rows(q_), spec_));
    rows(result_.k).copy_(Kept(ThroughFeatures(dc, rows(k_), spec_), keep));
    rows(result_.v).copy_(Kept(dv.narrow(-1, 0, v_.size(3)), keep));
    if (log_position_.defined())
      rows(log_position_).copy_((chunk.a * da).sum(-1) - (chunk.c * dc).sum(-1));
  }

  const at::Tensor q_, k_, v_, keep_;
  const LinearAttentionSpec& spec_;
  const CausalState& outcome_;
  const at::Tensor gradient_;
  const Chunks chunks_;
  CausalGradients result_;
  at::Tensor log_position_;  // [B, H, N]: gradients of b
};

}  // namespace

namespace internal {

at::Tensor LogDecayGradient(const at::Tensor& of_positions, at::IntArrayRef sizes) {
  return of_positions.flip(-1).cumsum(-1).flip(-1).sum_to_size(sizes);
}

CausalState CausalForwardByChunk(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& keep, const LinearAttentionSpec& spec) {
  at::Tensor state;
  return Forward(q, k, v, keep, spec, &state);
}

CausalGradients CausalBackwardByChunk(const at::Tensor& gradient, const at::Tensor& q,
                                      const at::Tensor& k, const at::Tensor& v,
                                      const at::Tensor& keep, const LinearAttentionSpec& spec,
                                      const CausalState& state) {
  return Backward(q, k, v, keep, spec, state, gradient).Run();
}

}  // namespace internal

at::Tensor ExtendLinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& keep, const LinearAttentionSpec& spec,
                                 at::Tensor* state) {
  const c10::NoGradGuard no_grad;
  return Forward(q, k, v, keep, spec, state).output;
}

}  // namespace lra
