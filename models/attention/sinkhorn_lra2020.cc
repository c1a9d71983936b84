// The variant LRA2020 of sinkhorn, as google-research/long-range-arena computes it. Tokens i and j
// share a group if i = j modulo the number of groups g = ceil(N / b). To the softmax over the
// group, a second softmax over the sums of keys and values of runs of g consecutive tokens is
// added. Nothing is sorted. In the original, N must be a multiple of b and masks are misplaced;
// here N is filled up and masks select.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>

#include <cmath>

#include "models/attention/sinkhorn_blocks.h"
#include "models/kernels/block_attention.h"
#include "models/kernels/softmax_attention.h"

namespace lra {
namespace {

Traits MakeTraits() {
  Traits traits;
  traits.label = "Sinkhorn Trans.";
  traits.summary = "attention within strided groups and to sums of neighbours";
  traits.source = "google-research/long-range-arena, sinkhorn_attention.py";
  traits.is_row_stochastic = false;  // two softmaxes are added
  traits.is_permutation_invariant = false;
  traits.causality = Causality::kNever;
  traits.causal_reason =
      "its sums hold later tokens; attention.options.variant=PAPER has a causal form";
  traits.is_padding_invariant = false;
  traits.padding_reason = "groups are positions modulo the padded length / block";
  traits.time_order = "N b D";
  traits.memory_order = "N D";
  return traits;
}

class Lra2020Sinkhorn : public Attention {
 public:
  explicit Lra2020Sinkhorn(int64_t block) : block_(block) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    const int64_t tokens = input.q.size(2), groups = (tokens + block_ - 1) / block_;
    // Runs of `groups` tokens; the s-th token of each run belongs to group s.
    const SinkhornBlocks runs(input, groups);
    const auto grouped = [](const at::Tensor& x) { return x.transpose(2, 3).flatten(2, 3); };
    const BlockKeys keys = {grouped(runs.k), grouped(runs.v), runs.keep.transpose(1, 2).flatten(1)};
    const at::Tensor local = BlockAttention(grouped(runs.q), {keys}, runs.q.size(2), false)
                                 .unflatten(2, {groups, -1})
                                 .transpose(2, 3)
                                 .flatten(2, 3)
                                 .narrow(2, 0, tokens);
    return local +
           SoftmaxAttention(input.q, runs.k.sum(3), runs.v.sum(3), runs.keep.any(2), DropoutKey());
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    const int64_t tokens = input.q.size(2), groups = (tokens + block_ - 1) / block_;
    const at::Tensor position = at::arange(tokens, input.q.options().dtype(at::kLong));
    at::Tensor keep = at::ones({input.q.size(0), 1, 1, tokens}, input.q.options().dtype(at::kBool));
    if (input.keep.defined()) keep = input.keep.view({-1, 1, 1, tokens});
    const at::Tensor k = input.k.masked_fill(keep.logical_not().mT(), 0),
                     v = input.v.masked_fill(keep.logical_not().mT(), 0);
    const auto attend = [&](const at::Tensor& keys, const at::Tensor& values,
                            const at::Tensor& admitted) {
      const at::Tensor logits =
          at::matmul(input.q, keys.mT()) / std::sqrt(static_cast<double>(input.q.size(3)));
      const at::Tensor masked = admitted.logical_not();
      const at::Tensor weights = at::softmax(logits.masked_fill(masked, -1e30), -1);
      return at::matmul(weights.masked_fill(masked, 0), values);
    };
    const at::Tensor group = position.remainder(groups);
    const at::Tensor local =
        attend(k, v, group.unsqueeze(1).eq(group.unsqueeze(0)).logical_and(keep));
    // [runs, N]: which tokens belong to a run.
    const at::Tensor run = at::floor_divide(position, groups),
                     members = at::arange(block_, run.options()).unsqueeze(1).eq(run);
    const at::Tensor is_run = members.logical_and(keep).any(3).unsqueeze(2);  // [B, 1, 1, runs]
    const at::Tensor sum = members.to(k.options());
    return local + attend(at::matmul(sum, k), at::matmul(sum, v), is_run);
  }

 private:
  const Traits traits_ = MakeTraits();
  const int64_t block_;
};

}  // namespace

std::unique_ptr<Attention> MakeLra2020Sinkhorn(int64_t block_tokens) {
  return std::make_unique<Lra2020Sinkhorn>(block_tokens);
}

}  // namespace lra
