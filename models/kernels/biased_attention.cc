#include "models/kernels/biased_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "models/kernels/token_projection.h"

namespace lra {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kTileElements = int64_t{1} << 21;  // of B H C Nk logits

struct Inputs {
  at::Tensor q, k, v, bias, keep;
  bool causal = false;

  int64_t queries() const { return q.defined() ? q.size(2) : bias.size(1); }
  int64_t keys() const { return v.size(2); }

  // body(first query, number of queries) for tiles.
  template <class Body>
  void ForTiles(Body body) const {
    const int64_t row = std::max<int64_t>(1, v.size(0) * v.size(1) * keys());
    const int64_t tile = std::clamp<int64_t>(kTileElements / row, 16, 512);
    for (int64_t i = 0; i < queries(); i += tile) body(i, std::min(tile, queries() - i));
  }

  // Weights [B, H, rows, Nk] of the queries first, first + 1, ..
  at::Tensor Weights(int64_t first, int64_t rows) const {
    at::Tensor logits;
    if (q.defined()) logits = at::matmul(q.narrow(2, first, rows), k.transpose(-1, -2));
    if (bias.defined()) {
      const at::Tensor tile = bias.narrow(1, first, rows).unsqueeze(0);
      logits =
          logits.defined() ? logits.add_(tile) : tile.expand({v.size(0), -1, -1, -1}).contiguous();
    }
    const at::Tensor masked = Masked(first, rows);
    if (!masked.defined()) return at::softmax(logits, -1);
    // Masked weights are 0, and so is a row of nothing but masked keys.
    return at::softmax(logits.masked_fill_(masked, -1e30), -1).masked_fill_(masked, 0);
  }

 private:
  at::Tensor Masked(int64_t first, int64_t rows) const {
    at::Tensor masked;
    if (keep.defined()) masked = keep.logical_not().view({keep.size(0), 1, 1, keep.size(1)});
    if (!causal) return masked;
    const at::Tensor positions = at::arange(keys(), v.options().dtype(at::kLong));
    const at::Tensor last =
        at::arange(first, first + rows, positions.options()) + keys() - queries();
    const at::Tensor future = positions.unsqueeze(0).gt(last.unsqueeze(1));  // [rows, Nk]
    return masked.defined() ? masked.logical_or(future) : future;
  }
};

class BiasedAttentionFunction : public torch::autograd::Function<BiasedAttentionFunction> {
 public:
  using Optional = std::optional<at::Tensor>;

  static at::Tensor forward(AutogradContext* context, const Optional& q, const Optional& k,
                            const at::Tensor& v, const Optional& bias, const Optional& keep,
                            bool causal) {
    const Inputs in = {Dense(q),
                       Dense(k),
                       v.contiguous(),
                       bias.value_or(at::Tensor()),
                       keep.value_or(at::Tensor()),
                       causal};
    context->save_for_backward({in.q, in.k, in.v, in.bias, in.keep});
    context->saved_data["causal"] = causal;
    at::Tensor output = at::empty({v.size(0), v.size(1), in.queries(), v.size(3)}, in.v.options());
    in.ForTiles([&](int64_t first, int64_t rows) {
      output.narrow(2, first, rows).copy_(at::matmul(in.Weights(first, rows), in.v));
    });
    return output;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const Inputs in = {saved[0], saved[1], saved[2],
                       saved[3], saved[4], context->saved_data["causal"].toBool()};
    const at::Tensor upstream = gradients[0].contiguous();
    const auto like = [](const at::Tensor& t) { return t.defined() ? at::zeros_like(t) : t; };
    at::Tensor dq = like(in.q), dk = like(in.k), dv = like(in.v), dbias = like(in.bias);
    in.ForTiles([&](int64_t first, int64_t rows) {
      const at::Tensor weights = in.Weights(first, rows), g = upstream.narrow(2, first, rows);
      dv.add_(at::matmul(weights.transpose(-1, -2), g));
      at::Tensor dlogits = at::matmul(g, in.v.transpose(-1, -2)).mul_(weights);
      dlogits.sub_(weights * dlogits.sum(-1, true));
      if (in.bias.defined()) dbias.narrow(1, first, rows).copy_(dlogits.sum(0));
      if (!in.q.defined()) return;
      dq.narrow(2, first, rows).copy_(at::matmul(dlogits, in.k));
      dk.add_(at::matmul(dlogits.transpose(-1, -2), in.q.narrow(2, first, rows)));
    });
    return {dq, dk, dv, dbias, at::Tensor(), at::Tensor()};
  }

 private:
  static at::Tensor Dense(const Optional& t) { return t ? t->contiguous() : at::Tensor(); }
};

std::optional<at::Tensor> OrNone(const at::Tensor& t) {
  return t.defined() ? std::optional<at::Tensor>(t) : std::nullopt;
}

}  // namespace

at::Tensor BiasedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& bias, const at::Tensor& keep, bool causal) {
  const at::Tensor safe_k = k.defined() ? SelectTokens(k, keep) : k;
  return BiasedAttentionFunction::apply(OrNone(q), OrNone(safe_k), SelectTokens(v, keep),
                                        OrNone(bias), OrNone(keep), causal);
}

}  // namespace lra
