// A filter for each channel over neighbouring tokens (models/kernels/channel_convolution.h), as
// stem and attentions use it.
#ifndef LRA_MODELS_LAYERS_TOKEN_FILTER_H_
#define LRA_MODELS_LAYERS_TOKEN_FILTER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lra {

// The tap of W that reads the token itself.
int64_t OwnTap(int64_t taps, bool is_causal);

// x [B, N, E] convolved by filters [W, E]: W / 2 tokens behind each are seen, or none if causal.
// Rows that are not `real` ([B, N] bool; undefined: all are) count as zeros.
at::Tensor FilterTokens(const at::Tensor& x, const at::Tensor& real, const at::Tensor& filters,
                        bool is_causal);

// Streaming, causal: the same of a piece of T tokens, x [B, T, E], behind those whose last W - 1
// *window holds as the filters read them, [B, W - 1, E]. It begins as EmptyWindow() and moves on.
at::Tensor FilterPiece(const at::Tensor& x, const at::Tensor& real, const at::Tensor& filters,
                       at::Tensor* window);
// In front of a sequence: zeros.
at::Tensor EmptyWindow(const at::Tensor& filters, int64_t batch, const at::TensorOptions& options);

// The same as FilterTokens() from its definition, differentiated by autograd, in the type of x.
at::Tensor FilterTokensDefinition(const at::Tensor& x, const at::Tensor& real,
                                  const at::Tensor& filters, bool is_causal);

}  // namespace lra

#endif  // LRA_MODELS_LAYERS_TOKEN_FILTER_H_
