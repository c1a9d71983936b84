#include "models/kernels/chunk_prefix.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>

#include <algorithm>

#include "models/kernels/linear_attention.h"

namespace lra {
namespace {

constexpr int64_t kGroupChunks = 128;

// Sums of the logs up to and with each chunk: [R, G].
at::Tensor LogEnds(const at::Tensor& logs) {
  return at::matmul(logs, at::ones({logs.size(1), logs.size(1)}, logs.options()).triu_());
}

// The matrix that takes G states to the sum before each of them and, as the last, over all of them:
// [R, G + 1, G]. starts [R, G + 1] and ends [R, G] are sums of logs, undefined = 0.
at::Tensor PrefixMatrix(const at::Tensor& starts, const at::Tensor& ends, const at::Tensor& states,
                        int64_t group) {
  if (!ends.defined()) {
    return at::ones({group + 1, group}, states.options())
        .tril_(-1)
        .expand({states.size(0), group + 1, group});
  }
  return (starts.unsqueeze(-1) - ends.unsqueeze(-2)).exp_().tril_(-1).to(states.options());
}

// EarlierSums() without scales; states [R, T, X].
at::Tensor TriangularSums(const at::Tensor& states, const at::Tensor& logs) {
  const int64_t rows = states.size(0), chunks = states.size(1), width = states.size(2);
  const int64_t groups = (chunks + kGroupChunks - 1) / kGroupChunks,
                group = (chunks + groups - 1) / groups, missing = groups * group - chunks;
  const auto filled = [&](const at::Tensor& t, at::IntArrayRef pad) {
    return missing > 0 ? at::constant_pad_nd(t, pad) : t;
  };
  const at::Tensor grouped = filled(states, {0, 0, 0, missing}).reshape({-1, group, width});
  at::Tensor starts, ends;
  if (logs.defined()) {
    ends = LogEnds(filled(logs, {0, missing}).reshape({-1, group}));
    starts = at::constant_pad_nd(ends, {1, 0});
  }
  const at::Tensor matrix = PrefixMatrix(starts, ends, grouped, group);
  if (groups == 1) return at::bmm(matrix.narrow(1, 0, group), grouped);
  const at::Tensor sums = at::bmm(matrix, grouped);  // [R groups, G + 1, X]
  at::Tensor inner = sums.narrow(1, 0, group);
  const at::Tensor before = TriangularSums(
      sums.select(1, group).reshape({rows, groups, width}),
      logs.defined() ? ends.select(1, group - 1).reshape({rows, groups}) : at::Tensor());
  const at::Tensor carried = before.reshape({rows * groups, 1, width});
  inner =
      logs.defined()
          ? inner + starts.narrow(1, 0, group).exp().to(states.options()).unsqueeze(-1) * carried
          : inner + carried;
  return inner.reshape({rows, groups * group, width}).narrow(1, 0, chunks);
}

// out_t = scales_(t-1) (out_(t-1) exp(logs_(t-1)) + states_(t-1)), chunk by chunk.
at::Tensor ScaledSums(const at::Tensor& states, const ChunkFading& fading) {
  const int64_t chunks = states.size(1);
  const at::Tensor scales = fading.scales.unsqueeze(2);  // [R, T - 1, 1, D]
  at::Tensor factors = scales;
  if (fading.logs.defined()) {
    factors =
        scales *
        fading.logs.narrow(1, 0, chunks - 1).exp().to(states.options()).unsqueeze(-1).unsqueeze(-1);
  }
  at::Tensor sums = at::empty_like(states, at::MemoryFormat::Contiguous);
  sums.select(1, 0).zero_();
  at::Tensor later = sums.narrow(1, 1, chunks - 1);
  at::mul_out(later, states.narrow(1, 0, chunks - 1), scales);
  for (int64_t t = 1; t < chunks; ++t)
    sums.select(1, t).addcmul_(sums.select(1, t - 1), factors.select(1, t - 1));
  return sums;
}

}  // namespace

at::Tensor EarlierSums(const at::Tensor& states, const ChunkFading& fading) {
  if (fading.scales.defined()) return ScaledSums(states, fading);
  return TriangularSums(states.flatten(2), fading.logs).unflatten(2, states.sizes().slice(2));
}

at::Tensor LaterSums(const at::Tensor& states, const ChunkFading& fading) {
  const auto flip = [](const at::Tensor& t) { return t.defined() ? t.flip(1) : t; };
  return flip(EarlierSums(flip(states), {flip(fading.logs), flip(fading.scales)}));
}

at::Tensor SuffixSums(const at::Tensor& t) {
  const int64_t rows = t.size(0), tokens = t.size(1), size = std::min(tokens, kCausalChunkTokens),
                chunks = (tokens + size - 1) / size;
  const at::Tensor filled =
      chunks * size > tokens ? at::constant_pad_nd(t, {0, chunks * size - tokens}) : t;
  const at::Tensor inner =
      at::matmul(filled.reshape({-1, size}), at::ones({size, size}, t.options()).tril_())
          .view({rows, chunks, size});
  if (chunks == 1) return inner.view({rows, size});
  const at::Tensor totals = inner.narrow(2, 0, 1).unsqueeze(-1);  // [R, T, 1, 1]
  return (inner + LaterSums(totals, {}).squeeze(-1)).view({rows, -1}).narrow(1, 0, tokens);
}

}  // namespace lra
