// The causal form for all chunks at once; see causal_linear_attention.h.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>

#include "models/kernels/causal_linear_attention.h"
#include "models/kernels/chunk_prefix.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/linear_attention_chunks.h"

namespace lra {
namespace {

using internal::CausalGradients;
using internal::CausalState;
using linear_pieces::Chunked;
using linear_pieces::Cut;
using linear_pieces::CutFeatures;
using linear_pieces::CutTokens;
using linear_pieces::Divided;
using linear_pieces::GradientStates;
using linear_pieces::KeySide;
using linear_pieces::Normalize;
using linear_pieces::Normalizer;
using linear_pieces::PartsOf;
using linear_pieces::QuerySide;
using linear_pieces::RowFloors;
using linear_pieces::Side;
using linear_pieces::StateParts;
using linear_pieces::ThroughCutFeatures;
using linear_pieces::ThroughDivision;
using linear_pieces::Tokens;
using linear_pieces::ValueStates;
using linear_pieces::WeightedRows;

// What decays take within the chunks: [B or 1, H, T, *]; undefined = nothing.
struct ChunkDecays {
  at::Tensor within;      // [.., C, C]: left of token j at token i, 0 above the diagonal
  at::Tensor to_token;    // [.., C, 1]: left of the chunk's beginning at each token
  at::Tensor from_token;  // [.., C, 1]: left of each token at the chunk's end
  at::Tensor logs;        // [B H, T] float64: log of what is left behind a chunk
};

ChunkDecays DecaysOf(const at::Tensor& q, const at::Tensor& log_decay, const Cut& cut) {
  ChunkDecays decays;
  if (!log_decay.defined()) return decays;
  at::Tensor logs = log_decay.detach().to(at::kDouble);
  if (cut.padded() > cut.tokens) logs = at::constant_pad_nd(logs, {0, cut.padded() - cut.tokens});
  const int64_t heads = q.size(1);
  // Sums up to each token and with it, in float64, because their differences count.
  const at::Tensor sums = at::matmul(logs.reshape({-1, cut.size}),
                                     at::ones({cut.size, cut.size}, logs.options()).triu_())
                              .view({logs.size(0), heads, cut.count, cut.size});
  const at::Tensor last = sums.narrow(3, cut.size - 1, 1);
  decays.logs = last.squeeze(3).expand({q.size(0), heads, cut.count}).reshape({-1, cut.count});
  decays.to_token = sums.exp().to(q.options()).unsqueeze(-1);
  decays.from_token = (last - sums).exp_().to(q.options()).unsqueeze(-1);
  // Above the diagonal, differences are above 0 and may overflow: they are dropped, not multiplied.
  const at::Tensor rounded = sums.to(q.options());
  decays.within = (rounded.unsqueeze(-1) - rounded.unsqueeze(-2)).exp_().tril_();
  return decays;
}

// All chunks of a call, as batches of R = B H T matrices.
class AllChunks {
 public:
  AllChunks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& keep,
            const LinearAttentionSpec& spec)
      : spec_(spec),
        q_(q),
        value_width_(v.size(3)),
        cut_(Cut::IntoChunks(q.size(2))),
        query_(QuerySide(q, spec)),
        key_(KeySide(k, keep, query_, spec)),
        decays_(DecaysOf(q, spec.log_decay, cut_)),
        queries_(Chunked(CutFeatures(query_, spec, cut_), cut_)),
        keys_(Chunked(CutFeatures(key_, spec, cut_), cut_)),
        values_(Chunked(CutTokens(v, at::Tensor(), key_.hidden, cut_), cut_)),
        to_token_queries_(Times(queries_, decays_.to_token)),
        from_token_keys_(Times(keys_, decays_.from_token)) {
    if (cut_.count > 1) {
      scales_ = ScalesOf(spec);
      earlier_ =
          PartsOf(Over(EarlierSums, ValueStates(from_token_keys_, values_, spec)), value_width_);
    }
  }

  CausalState Forward() const {
    const at::Tensor weights = Weighted(at::bmm(queries_, keys_.transpose(1, 2)));  // [R, C, C]
    at::Tensor sums = at::bmm(weights, values_);                                    // [R, C, Dv]
    if (cut_.count > 1) sums.baddbmm_(to_token_queries_, earlier_.values.transpose(1, 2));
    CausalState state;
    if (spec_.denominator != Denominator::kNone) {
      at::Tensor row_sum = weights.sum(-1, /*keepdim=*/true);
      if (cut_.count > 1) row_sum.baddbmm_(to_token_queries_, earlier_.sums.transpose(1, 2));
      state.row_sum = InOrder(row_sum).squeeze(3);
    }
    if (spec_.denominator == Denominator::kSignedFloor) state.key_sum_norms = KeySumNorms();
    state.output = Divided(InOrder(sums), NormalizerOf(state));
    return state;
  }

  CausalGradients Backward(const at::Tensor& gradient, const CausalState& state) const {
    const WeightedRows upstream =
        Chunked(ThroughDivision(gradient, state.output, NormalizerOf(state), cut_), cut_);
    at::Tensor of_weights = at::bmm(upstream.values, values_.transpose(1, 2));  // [R, C, C]
    if (upstream.sums.defined()) of_weights.add_(upstream.sums);
    of_weights = Weighted(of_weights);
    at::Tensor dq = at::bmm(of_weights, keys_), dk = at::bmm(of_weights.transpose(1, 2), queries_);
    at::Tensor dv = at::bmm(Weighted(at::bmm(queries_, keys_.transpose(1, 2))).transpose(1, 2),
                            upstream.values);
    if (cut_.count > 1) {
      dq.add_(FromEarlier(upstream));
      AddFromLater(upstream, &dk, &dv);
    }
    CausalGradients gradients = {ThroughCutFeatures(InOrder(dq), query_, spec_),
                                 ThroughCutFeatures(InOrder(dk), key_, spec_),
                                 EmptyHeads(q_, value_width_),
                                 {}};
    gradients.v.copy_(InOrder(dv));
    if (spec_.log_decay.defined()) gradients.log_decay = DecayGradient(dq, dk);
    return gradients;
  }

 private:
  // [B H, T - 1, F], from chunk to chunk.
  at::Tensor ScalesOf(const LinearAttentionSpec& spec) const {
    if (!spec.state_scale.defined()) return at::Tensor();
    const at::Tensor scales = spec.state_scale.flatten(0, 1).narrow(1, 1, cut_.count - 1);
    return spec.query_angles.defined() ? scales.repeat({1, 1, 2}) : scales;
  }
  // t [R, C, *] times a factor of a ChunkDecays.
  at::Tensor Times(const at::Tensor& t, const at::Tensor& factor) const {
    if (!factor.defined()) return t;
    return (t.view({q_.size(0), q_.size(1), cut_.count, cut_.size, t.size(2)}) * factor)
        .flatten(0, 2);
  }
  // The same of products a c^T [R, C, C], in place: what is later than the row is left out.
  at::Tensor Weighted(at::Tensor products) const {
    if (!decays_.within.defined()) return products.tril_();
    products.view({q_.size(0), q_.size(1), cut_.count, cut_.size, cut_.size}).mul_(decays_.within);
    return products;
  }
  at::Tensor InOrder(const at::Tensor& t) const { return Tokens(t, q_, cut_); }

  // EarlierSums or LaterSums over states [R, V, F].
  at::Tensor Over(at::Tensor (*sums)(const at::Tensor&, const ChunkFading&),
                  const at::Tensor& states) const {
    const at::Tensor by_head = states.view({-1, cut_.count, states.size(1), states.size(2)});
    return sums(by_head, {decays_.logs, scales_}).reshape(states.sizes());
  }

  Normalizer NormalizerOf(const CausalState& state) const {
    at::Tensor floors;
    if (state.key_sum_norms.defined())
      floors =
          RowFloors(InOrder(queries_.norm(2, -1, true)).squeeze(3), state.key_sum_norms, spec_);
    return Normalize(state.row_sum, floors, spec_);
  }

  // What a token is worth to later ones of its chunk, without features: [R, C, C].
  at::Tensor Triangle() const {
    if (decays_.within.defined()) {
      return decays_.within.expand({q_.size(0), q_.size(1), cut_.count, cut_.size, cut_.size})
          .reshape({-1, cut_.size, cut_.size});
    }
    return at::ones({cut_.size, cut_.size}, q_.options())
        .tril_()
        .expand({keys_.size(0), cut_.size, cut_.size});
  }

  // |sum_{j <= i} phi(k_j)|, decayed: [B, H, N].
  at::Tensor KeySumNorms() const {
    const at::Tensor triangle = Triangle();
    at::Tensor sums = at::bmm(triangle, keys_);  // [R, C, F]
    if (cut_.count > 1) sums.add_(Times(earlier_.sums.expand_as(sums), decays_.to_token));
    return InOrder(sums.norm(2, -1, true)).squeeze(3);
  }

  // What the queries' features get through the states: [R, C, F].
  at::Tensor FromEarlier(const WeightedRows& upstream) const {
    at::Tensor dq = at::bmm(upstream.values, earlier_.values);
    if (upstream.sums.defined()) dq.addcmul_(upstream.sums, earlier_.sums);
    return Times(dq, decays_.to_token);
  }

  // What keys and values get from later chunks through the states.
  void AddFromLater(const WeightedRows& upstream, at::Tensor* dk, at::Tensor* dv) const {
    const StateParts later =
        PartsOf(Over(LaterSums, GradientStates(to_token_queries_, upstream)), value_width_);
    at::Tensor of_keys = at::bmm(values_, later.values);
    if (later.sums.defined()) of_keys.add_(later.sums);
    dk->add_(Times(of_keys, decays_.from_token));
    dv->baddbmm_(from_token_keys_, later.values.transpose(1, 2));
  }

  // A weight from j to i holds exp(b_i - b_j) with b_i = log g_0 + .. + log g_i, and so d b_i =
  // a_i . da_i - c_i . dc_i; log g_s is in every b_i with i >= s.
  at::Tensor DecayGradient(const at::Tensor& dq, const at::Tensor& dk) const {
    const at::Tensor of_sums = (queries_ * dq).sum(-1) - (keys_ * dk).sum(-1);  // [R, C]
    return SuffixSums(of_sums.to(at::kDouble).view({-1, cut_.padded()}))
        .narrow(1, 0, cut_.tokens)
        .view({q_.size(0), q_.size(1), cut_.tokens})
        .sum_to_size(spec_.log_decay.sizes())
        .to(spec_.log_decay.scalar_type());
  }

  const LinearAttentionSpec& spec_;
  const at::Tensor q_;
  const int64_t value_width_;
  const Cut cut_;
  const Side query_, key_;
  const ChunkDecays decays_;
  const at::Tensor queries_, keys_, values_;             // [R, C, F], [R, C, F], [R, C, Dv]
  const at::Tensor to_token_queries_, from_token_keys_;  // decayed
  at::Tensor scales_;
  StateParts earlier_;  // on entering each chunk
};

}  // namespace

namespace internal {

CausalState CausalForwardAtOnce(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const at::Tensor& keep, const LinearAttentionSpec& spec) {
  return AllChunks(q, k, v, keep, spec).Forward();
}

CausalGradients CausalBackwardAtOnce(const at::Tensor& gradient, const at::Tensor& q,
                                     const at::Tensor& k, const at::Tensor& v,
                                     const at::Tensor& keep, const LinearAttentionSpec& spec,
                                     const CausalState& state) {
  return AllChunks(q, k, v, keep, spec).Backward(gradient, state);
}

}  // namespace internal
}  // namespace lra
