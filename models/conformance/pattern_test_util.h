// For tests: finds which keys an attention looks at.
#ifndef LRA_MODELS_CONFORMANCE_PATTERN_TEST_UTIL_H_
#define LRA_MODELS_CONFORMANCE_PATTERN_TEST_UTIL_H_

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like.h>

#include <cstdint>
#include <vector>

#include "models/conformance/golden_test_util.h"

namespace lra {

// Softmax attention, which a pattern that covers everything is.
// clang-format off
inline const Golden kGoldenSoftmax = {"softmax", {0.10881900, -0.32058849, 0.09846683}, {0.33555482, -0.17303866, -0.22367163}, {-0.8944976236, -0.0892590791, 1.53910518, 1.77257699, 7.59602138}};
inline const Golden kGoldenCausalSoftmax = {"softmax causal", {0.29552021, 0.80849640, -0.81827711}, {0.33555482, -0.17303866, -0.22367163}, {1.1319240234, -1.1016248190, 0.68237297, 0.59217250, 14.48520388}};
// clang-format on

inline MadeSizes SizesOf(int64_t max_length_tokens) {
  MadeSizes sizes;
  sizes.max_length_tokens = max_length_tokens;
  return sizes;
}

// One example with 2 heads of width 4.
inline AttentionCase CaseOf(int64_t tokens) { return {2100, 1, 2, tokens, tokens, 4}; }

inline AttentionCase Causal(AttentionCase c) {
  c.input.causal = true;
  return c;
}

// The positions of the values that the output of query i depends on, found from the gradient.
inline std::vector<int64_t> KeysOf(const Attention& attention, AttentionCase c, int64_t i,
                                   int64_t head = 0) {
  c.upstream = at::zeros_like(c.upstream);
  c.upstream[0][head][i].fill_(1);
  const at::Tensor gradient = RunAttention(attention, Form::kFast, c).dv[0][head];
  const at::Tensor keys = gradient.abs().sum(-1).nonzero().flatten().contiguous();
  return {keys.const_data_ptr<int64_t>(), keys.const_data_ptr<int64_t>() + keys.numel()};
}

}  // namespace lra

#endif  // LRA_MODELS_CONFORMANCE_PATTERN_TEST_UTIL_H_
