#include "models/attention/pattern_stream.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

namespace lra {
namespace {

// How many queries meet the cache together, so that a long piece stays linear in memory.
constexpr int64_t kStepTokens = 64;

enum Cache { kKeys, kValues, kKeep, kPositions };

// softmax(q k^T / sqrt(D)) v over `pairs` [T, K] and keep [B, K].
at::Tensor Attend(const at::Tensor& q, const std::vector<at::Tensor>& cache,
                  const at::Tensor& pairs) {
  const at::Tensor hidden =
      pairs.logical_and(cache[kKeep].unsqueeze(1)).unsqueeze(1).logical_not();  // [B, 1, T, K]
  const at::Tensor gone = cache[kKeep].logical_not().unsqueeze(1).unsqueeze(3);
  const at::Tensor k = cache[kKeys].masked_fill(gone, 0), v = cache[kValues].masked_fill(gone, 0);
  const at::Tensor scores =
      at::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor weights = at::softmax(scores.masked_fill(hidden, -1e30), -1);
  return at::matmul(weights.masked_fill(hidden, 0), v);
}

}  // namespace

AttentionState InitPatternState(int64_t batch, int64_t heads, int64_t head_width,
                                const at::TensorOptions& options) {
  const at::Tensor none = at::empty({batch, heads, 0, head_width}, options);
  return {0,
          {none, none, at::empty({batch, 0}, options.dtype(at::kBool)),
           at::empty({0}, options.dtype(at::kLong))}};
}

at::Tensor ExtendPattern(const StreamPattern& pattern, const AttentionInput& piece,
                         AttentionState* state) {
  const at::NoGradGuard no_grad;
  const int64_t batch = piece.q.size(0), tokens = piece.q.size(2);
  std::vector<at::Tensor>& cache = state->tensors;
  std::vector<at::Tensor> outputs;
  for (int64_t start = 0; start < tokens; start += kStepTokens) {
    const int64_t step = std::min(kStepTokens, tokens - start), next = state->tokens + step;
    const at::Tensor places = at::arange(state->tokens, next, cache[kPositions].options());
    const at::Tensor keep = piece.keep.defined() ? piece.keep.narrow(1, start, step)
                                                 : at::ones({batch, step}, cache[kKeep].options());
    cache = {at::cat({cache[kKeys], piece.k.narrow(2, start, step)}, 2),
             at::cat({cache[kValues], piece.v.narrow(2, start, step)}, 2),
             at::cat({cache[kKeep], keep}, 1), at::cat({cache[kPositions], places})};
    const at::Tensor pairs = pattern.sees(places.unsqueeze(1), cache[kPositions].unsqueeze(0))
                                 .logical_and(cache[kPositions] <= places.unsqueeze(1));
    outputs.push_back(Attend(piece.q.narrow(2, start, step), cache, pairs));
    const at::Tensor stays = pattern.stays(cache[kPositions], next).nonzero().flatten();
    if (stays.size(0) < cache[kPositions].size(0)) {
      cache = {cache[kKeys].index_select(2, stays), cache[kValues].index_select(2, stays),
               cache[kKeep].index_select(1, stays), cache[kPositions].index_select(0, stays)};
    }
    state->tokens = next;
  }
  return at::cat(outputs, 2);
}

}  // namespace lra
