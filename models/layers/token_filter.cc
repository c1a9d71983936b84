#include "models/layers/token_filter.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "models/kernels/channel_convolution.h"

namespace lra {
namespace {

int64_t TokensAfter(const at::Tensor& filters, bool is_causal) {
  return filters.size(0) - 1 - OwnTap(filters.size(0), is_causal);
}

// x with zeros in the rows that are not real.
at::Tensor RealRows(const at::Tensor& x, const at::Tensor& real) {
  return real.defined() ? at::where(real.unsqueeze(2), x, at::zeros({}, x.options())) : x;
}

}  // namespace

int64_t OwnTap(int64_t taps, bool is_causal) { return taps - 1 - (is_causal ? 0 : taps / 2); }

at::Tensor FilterTokens(const at::Tensor& x, const at::Tensor& real, const at::Tensor& filters,
                        bool is_causal) {
  return ChannelConvolution(RealRows(x, real), filters, TokensAfter(filters, is_causal));
}

// The window's own outputs are those of a sequence that begins with it, and are left out.
at::Tensor FilterPiece(const at::Tensor& x, const at::Tensor& real, const at::Tensor& filters,
                       at::Tensor* window) {
  const int64_t before = window->size(1), tokens = x.size(1);
  const at::Tensor read = at::cat({*window, RealRows(x, real)}, 1);
  *window = read.narrow(1, tokens, before).clone();
  return ChannelConvolution(read, filters, 0).narrow(1, before, tokens).contiguous();
}

at::Tensor EmptyWindow(const at::Tensor& filters, int64_t batch, const at::TensorOptions& options) {
  return at::zeros({batch, filters.size(0) - 1, filters.size(1)}, options);
}

// A product with matrices: out_n = sum_m sum_t [m = n + t - before] f_t x_m.
at::Tensor FilterTokensDefinition(const at::Tensor& x, const at::Tensor& real,
                                  const at::Tensor& filters, bool is_causal) {
  const int64_t taps = filters.size(0), before = taps - 1 - TokensAfter(filters, is_causal);
  const at::Tensor seen = real.defined() ? x.masked_fill(real.logical_not().unsqueeze(2), 0) : x;
  const at::Tensor places = at::arange(x.size(1), at::kLong);
  // [N, N, W]: whether tap t of token n reads token m.
  const at::Tensor reads = (places - places.unsqueeze(1))
                               .unsqueeze(2)
                               .eq(at::arange(taps, at::kLong) - before)
                               .to(x.options());
  return at::einsum("nmt,te,bme->bne", {reads, filters.to(x.options()), seen});
}

}  // namespace lra
