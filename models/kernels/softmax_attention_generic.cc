// Softmax attention on any device and float type, in blocks of scores (BlockSize) at a time.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/kernels/softmax_attention.h"

namespace lra::internal {
namespace {

// The largest blocks. `keys` is a multiple of 8, because dropout draws 8 keys together.
struct BlockSize {
  int64_t elements, keys, queries;
};
constexpr BlockSize kOnHost = {1 << 20, 512, 512};
constexpr BlockSize kOnDevice = {1 << 26, 4096, 4096};  // few operators are launched

struct Block {
  int64_t first_query, queries, first_key, keys;
};

at::Tensor Queries(const at::Tensor& t, const Block& b) {
  return t.narrow(2, b.first_query, b.queries);
}
at::Tensor Keys(const at::Tensor& t, const Block& b) { return t.narrow(2, b.first_key, b.keys); }

class Blocks {
 public:
  explicit Blocks(const SoftmaxInput& input)
      : input_(input),
        size_(input.q.is_cpu() ? kOnHost : kOnDevice),
        scale_(1 / std::sqrt(static_cast<double>(input.q.size(3)))) {
    if (!input.keep.defined()) {
      k_ = input.k;
      v_ = input.v;
      return;
    }
    // A masked NaN must not be multiplied by a weight of 0, because the product is NaN.
    const at::Tensor kept = input.keep.view({input.keep.size(0), 1, -1, 1});
    k_ = at::where(kept, input.k, at::zeros({}, input.k.options()));
    v_ = at::where(kept, input.v, at::zeros({}, input.v.options()));
  }

  // Calls body(block of queries without keys) outside, and body(block) for each of its key blocks
  // inside.
  template <class Begin, class Body, class End>
  void ForAll(Begin begin, Body body, End end) const {
    const int64_t n = input_.q.size(2), all_keys = input_.k.size(2);
    const int64_t heads = std::max<int64_t>(1, input_.q.size(0) * input_.q.size(1));
    const int64_t rows =
        std::clamp<int64_t>(size_.elements / (heads * size_.keys), 16, size_.queries);
    for (int64_t first = 0; first < n; first += rows) {
      Block block = {first, std::min(rows, n - first), 0, 0};
      // After the last key that the block's last query sees, nothing is left to do.
      const int64_t visible = first + block.queries - 1 + input_.VisibleOffset();
      const int64_t keys = input_.causal ? std::clamp<int64_t>(visible, 0, all_keys) : all_keys;
      begin(block);
      for (; block.first_key < keys; block.first_key += size_.keys) {
        block.keys = std::min(size_.keys, keys - block.first_key);
        body(block);
      }
      end(block);
    }
  }

  // [B, H, queries, keys], -infinity where a key is hidden.
  at::Tensor Scores(const Block& b) const {
    at::Tensor scores = at::matmul(Queries(input_.q, b) * scale_, Keys(k_, b).transpose(-1, -2));
    if (input_.bias.defined()) {
      scores =
          scores + input_.bias.narrow(1, b.first_query, b.queries).narrow(2, b.first_key, b.keys);
    }
    if (input_.distance_slopes.defined()) scores = scores - DistancePenalty(b);
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    if (input_.keep.defined()) {
      const at::Tensor hidden = input_.keep.narrow(1, b.first_key, b.keys).logical_not();
      scores = scores.masked_fill(hidden.view({hidden.size(0), 1, 1, -1}), kHidden);
    }
    if (input_.causal && b.first_key + b.keys > b.first_query + input_.VisibleOffset()) {
      const auto options = input_.q.options().dtype(at::kLong);
      const at::Tensor limits =
          at::arange(b.first_query, b.first_query + b.queries, options) + input_.VisibleOffset();
      const at::Tensor keys = at::arange(b.first_key, b.first_key + b.keys, options);
      scores = scores.masked_fill(keys >= limits.unsqueeze(1), kHidden);
    }
    return scores;
  }

  // What dropout multiplies the weights by; undefined = 1.
  at::Tensor Mask(const Block& b) const {
    if (!input_.weight_dropout.active()) return at::Tensor();
    return WeightDropoutBlock(input_.weight_dropout, input_.q.size(1), b.first_query, b.queries,
                              b.first_key, b.keys, input_.q.device())
        .to(input_.q.options());
  }

  const at::Tensor& k() const { return k_; }
  const at::Tensor& v() const { return v_; }
  double scale() const { return scale_; }

 private:
  // [H, queries, keys]
  at::Tensor DistancePenalty(const Block& b) const {
    const auto options = input_.q.options().dtype(at::kLong);
    const int64_t first = b.first_query + input_.FirstPosition();
    const at::Tensor queries = at::arange(first, first + b.queries, options).unsqueeze(1);
    const at::Tensor keys = at::arange(b.first_key, b.first_key + b.keys, options);
    return input_.distance_slopes.to(input_.q.options()).view({-1, 1, 1}) * (queries - keys).abs();
  }

  const SoftmaxInput& input_;
  const BlockSize size_;
  const double scale_;
  at::Tensor k_, v_;
};

at::Tensor Zeros(const at::Tensor& like, int64_t tokens, int64_t width) {
  return at::zeros({like.size(0), tokens, like.size(1), width}, like.options()).transpose(1, 2);
}

}  // namespace

SoftmaxState SoftmaxForwardGeneric(const SoftmaxInput& input) {
  const Blocks blocks(input);
  const int64_t n = input.q.size(2), width = input.v.size(3);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SoftmaxState state = {Zeros(input.q, n, width), at::full({input.q.size(0), input.q.size(1), n},
                                                           kInfinity, input.q.options())};
  at::Tensor highest, sum, total;  // [B, H, rows, 1] and [B, H, rows, Dv]
  blocks.ForAll(
      [&](const Block& b) {
        sum = at::zeros({input.q.size(0), input.q.size(1), b.queries, 1}, input.q.options());
        highest = at::full_like(sum, -kInfinity);
        total = sum.expand({-1, -1, -1, width}).clone();
      },
      [&](const Block& b) {
        const at::Tensor scores = blocks.Scores(b);
        const at::Tensor raised = at::maximum(highest, scores.amax(-1, true));
        // A row that has seen no key yet uses 0 as reference.
        const at::Tensor reference = raised.masked_fill(raised == -kInfinity, 0);
        const at::Tensor weights = (scores - reference).exp();
        const at::Tensor fade = (highest - reference).exp();
        sum = sum * fade + weights.sum(-1, true);
        const at::Tensor mask = blocks.Mask(b);
        total = total * fade +
                at::matmul(mask.defined() ? weights * mask : weights, Keys(blocks.v(), b));
        highest = raised;
      },
      [&](const Block& b) {
        const at::Tensor empty = highest == -kInfinity;
        Queries(state.output, b).copy_((total / sum).masked_fill(empty, 0));
        Queries(state.log_sum, b)
            .copy_((highest + sum.log()).masked_fill(empty, kInfinity).squeeze(-1));
      });
  return state;
}

SoftmaxGradients SoftmaxBackwardGeneric(const at::Tensor& gradient, const SoftmaxInput& input,
                                        const SoftmaxState& state) {
  const Blocks blocks(input);
  const int64_t n = input.q.size(2), keys = input.k.size(2);
  SoftmaxGradients result = {Zeros(input.q, n, input.q.size(3)),
                             Zeros(input.k, keys, input.k.size(3)),
                             Zeros(input.v, keys, input.v.size(3)),
                             input.bias.defined() ? at::zeros_like(input.bias) : at::Tensor()};
  const at::Tensor row_sums = (gradient * state.output).sum(-1, true);
  blocks.ForAll(
      [](const Block&) {},
      [&](const Block& b) {
        const at::Tensor weights =
            (blocks.Scores(b) - Queries(state.log_sum, b).unsqueeze(-1)).exp();
        const at::Tensor mask = blocks.Mask(b), upstream = Queries(gradient, b);
        const at::Tensor dropped = mask.defined() ? weights * mask : weights;
        Keys(result.v, b).add_(at::matmul(dropped.transpose(-1, -2), upstream));
        const at::Tensor through = at::matmul(upstream, Keys(blocks.v(), b).transpose(-1, -2));
        const at::Tensor scores =
            weights * ((mask.defined() ? through * mask : through) - Queries(row_sums, b));
        Queries(result.q, b).add_(at::matmul(scores, Keys(blocks.k(), b)), blocks.scale());
        Keys(result.k, b)
            .add_(at::matmul(scores.transpose(-1, -2), Queries(input.q, b)), blocks.scale());
        if (result.bias.defined()) {
          result.bias.narrow(1, b.first_query, b.queries)
              .narrow(2, b.first_key, b.keys)
              .add_(scores.sum(0));
        }
      },
      [](const Block&) {});
  return result;
}

}  // namespace lra::internal
