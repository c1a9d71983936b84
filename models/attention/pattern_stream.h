// Streaming for causal sparse patterns: a cache of the keys that later queries may still see.
#ifndef LRA_MODELS_ATTENTION_PATTERN_STREAM_H_
#define LRA_MODELS_ATTENTION_PATTERN_STREAM_H_

#include <functional>

#include "models/interface/attention.h"

namespace lra {

struct StreamPattern {
  // Returns bool [T, K]: which of the keys at positions [1, K] each query at positions [T, 1] sees.
  std::function<at::Tensor(const at::Tensor& queries, const at::Tensor& keys)> sees;
  // Returns bool [K]: which of the keys at positions [K] a query at `next` or later may see.
  std::function<at::Tensor(const at::Tensor& keys, int64_t next)> stays;
};

// Attention::InitState() and Extend() for the pattern. The state's tensors are k, v [B, H, K, D],
// keep [B, K] and the positions [K].
AttentionState InitPatternState(int64_t batch, int64_t heads, int64_t head_width,
                                const at::TensorOptions& options);
at::Tensor ExtendPattern(const StreamPattern& pattern, const AttentionInput& piece,
                         AttentionState* state);

}  // namespace lra

#endif  // LRA_MODELS_ATTENTION_PATTERN_STREAM_H_
