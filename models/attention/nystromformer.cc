// nystromformer: softmax attention through landmarks, and a convolution of the values.
// Source: Xiong et al. 2021 ("Nyströmformer"), eqs. 9, 13 and 14 and section 3.3; code of its LRA
// experiments (mlpen/Nystromformer).
//   o = softmax(q k~^T) Z softmax(q~ k^T) v + conv(v), all logits over sqrt(D)
//   A = softmax(q~ k~^T),  Z_0 = A^T / (largest column sum of A),
//   Z <- Z (13 I - A Z (15 I - A Z (7 I - A Z))) / 4
// The landmarks q~ and k~ [M, D] are the means of q and k over M consecutive segments, and Z
// approximates the pseudo-inverse of A. Three things are ours: segments divide the kept tokens, not
// the padded length; Z_0 is scaled for each matrix, not for the whole batch; and an example with
// fewer kept tokens than landmarks gets exact softmax attention. So neither padding nor batching
// changes an output.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/attention/nystromformer.pb.h"
#include "models/interface/attention.h"
#include "models/interface/options.h"
#include "models/kernels/segment_means.h"
#include "models/kernels/select_kept.h"
#include "models/kernels/softmax_attention.h"
#include "models/kernels/token_convolution.h"

namespace lra {
namespace {

Traits MakeTraits() {
  Traits traits;
  traits.label = "Nyströmformer";
  traits.summary = "softmax attention through landmarks, plus a convolution of the values";
  traits.source = "Xiong et al. 2021, eqs. 13-14";
  traits.is_row_stochastic = false;         // the pseudo-inverse has entries of both signs
  traits.is_permutation_invariant = false;  // landmarks are means of neighbours
  traits.causality = Causality::kNever;
  traits.causal_reason = "every landmark holds later tokens";
  traits.time_order = "N M D + M^3";
  traits.memory_order = "N D + N M";
  return traits;
}

at::Tensor PseudoInverse(const at::Tensor& a, int64_t iterations) {
  const at::Tensor identity = at::eye(a.size(-1), a.options());
  at::Tensor z = a.transpose(-1, -2) / a.sum(-2).amax(-1).unsqueeze(-1).unsqueeze(-1);
  for (int64_t i = 0; i < iterations; ++i) {
    const at::Tensor az = at::matmul(a, z);
    const at::Tensor inner = 15 * identity - at::matmul(az, 7 * identity - az);
    z = 0.25 * at::matmul(z, 13 * identity - at::matmul(az, inner));
  }
  return z;
}

class Nystromformer : public Attention {
 public:
  // `convolution` is [H, W], one filter for each head, or undefined for no convolution.
  Nystromformer(int64_t landmarks, int64_t iterations, at::Tensor convolution)
      : landmarks_(landmarks), iterations_(iterations), convolution_(std::move(convolution)) {}

  const Traits& traits() const override { return traits_; }

  at::Tensor Attend(const AttentionInput& input) const override {
    TORCH_CHECK(input.q.size(2) == input.k.size(2), "nystromformer: ", input.q.size(2),
                " queries and ", input.k.size(2), " keys; it needs as many of either");
    const at::Tensor keep = input.keep.defined()
                                ? input.keep
                                : at::ones({input.k.size(0), input.k.size(2)},
                                           input.k.options().dtype(at::kBool).requires_grad(false));
    const at::Tensor q = SelectKept(input.q, input.keep), k = SelectKept(input.k, input.keep),
                     v = SelectKept(input.v, input.keep);
    at::Tensor output = q.is_cpu() ? AttendByLength(q, k, v, keep)
                                   : AttendByLengthOnDevice(q, k, v, keep, input.keep.defined());
    if (convolution_.defined()) {
      output = AddTokenConvolution(output, v, convolution_.to(v.options()));
    }
    return SelectKept(output, input.keep);
  }

  at::Tensor Oracle(const AttentionInput& input) const override {
    std::vector<at::Tensor> outputs;
    for (int64_t b = 0; b < input.q.size(0); ++b) {
      const at::Tensor kept = input.keep.defined()
                                  ? input.keep[b].nonzero().view(-1)
                                  : at::arange(input.q.size(2), input.q.options().dtype(at::kLong));
      const auto pick = [&](const at::Tensor& x) { return x[b].index_select(1, kept); };
      const at::Tensor v = pick(input.v);
      at::Tensor weights = DenseWeights(pick(input.q), pick(input.k));
      if (convolution_.defined()) weights = weights + DenseConvolution(kept, v);
      outputs.push_back(at::zeros_like(input.v[b]).index_copy(1, kept, at::matmul(weights, v)));
    }
    return at::stack(outputs);
  }

 private:
  // Attends without the convolution; q, k and v must be 0 at masked tokens. Examples with fewer
  // kept tokens than landmarks go another way than the others of the batch.
  at::Tensor AttendByLength(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& keep) const {
    const at::Tensor is_short = keep.sum(1) < landmarks_;
    const at::Tensor shorter = is_short.nonzero().view(-1),
                     longer = is_short.logical_not().nonzero().view(-1);
    if (longer.numel() == 0) return SoftmaxAttention(q, k, v, keep, DropoutKey());
    if (shorter.numel() == 0) return AttendThroughLandmarks(q, k, v, keep);
    const auto pick = [&](const at::Tensor& x, const at::Tensor& examples) {
      return x.index_select(0, examples);
    };
    const at::Tensor exact = SoftmaxAttention(pick(q, shorter), pick(k, shorter), pick(v, shorter),
                                              pick(keep, shorter), DropoutKey());
    const at::Tensor approximate = AttendThroughLandmarks(pick(q, longer), pick(k, longer),
                                                          pick(v, longer), pick(keep, longer));
    return at::cat({exact, approximate}).index_select(0, at::cat({shorter, longer}).argsort());
  }

  // The same where the host does not know which examples are short: all go both ways.
  at::Tensor AttendByLengthOnDevice(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& keep, bool has_masked) const {
    if (q.size(2) < landmarks_) return SoftmaxAttention(q, k, v, keep, DropoutKey());
    if (!has_masked) return AttendThroughLandmarks(q, k, v, keep);
    const at::Tensor is_short = keep.sum(1) < landmarks_, alone = is_short.view({-1, 1, 1, 1});
    // Numbers that no gradient comes back from stand in for the short ones.
    const auto without = [&](const at::Tensor& x) { return x.masked_fill(alone, 0); };
    return at::where(alone, AttendFew(q, k, v, keep),
                     AttendThroughLandmarks(without(q), without(k), without(v),
                                            keep.logical_or(is_short.unsqueeze(1))));
  }

  // Exact attention among the first kept tokens of each example, as many as there are landmarks.
  // They are picked by products: sums over indices are slow where they must have one order.
  at::Tensor AttendFew(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       const at::Tensor& keep) const {
    const int64_t batch = q.size(0), heads = q.size(1), tokens = q.size(2);
    const at::Tensor first =
        at::argsort(keep.to(at::kByte), /*stable=*/true, 1, /*descending=*/true)
            .narrow(1, 0, landmarks_);
    const at::Tensor picks = at::arange(tokens, first.options())
                                 .eq(first.unsqueeze(2))
                                 .to(q.scalar_type());  // [B, M, N]
    const auto move = [&](const at::Tensor& by, const at::Tensor& x) {
      return at::bmm(by, x.transpose(1, 2).reshape({batch, x.size(2), -1}))
          .view({batch, by.size(1), heads, -1})
          .transpose(1, 2);
    };
    const at::Tensor output = SoftmaxAttention(move(picks, q), move(picks, k), move(picks, v),
                                               keep.gather(1, first), DropoutKey());
    return move(picks.transpose(1, 2), output);
  }

  at::Tensor AttendThroughLandmarks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& keep) const {
    const at::Tensor q_marks = SegmentMeans(q, keep, landmarks_),
                     k_marks = SegmentMeans(k, keep, landmarks_);
    const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
    const at::Tensor a = at::softmax(at::matmul(q_marks * scale, k_marks.transpose(-1, -2)), -1);
    const at::Tensor values = SoftmaxAttention(q_marks, k, v, keep, DropoutKey());  // [B, H, M, D]
    return SoftmaxAttention(q, k_marks, at::matmul(PseudoInverse(a, iterations_), values),
                            at::Tensor(), DropoutKey());
  }

  // Returns the weights [H, n, n] between the n kept tokens of one example, from their q and k
  // [H, n, D].
  at::Tensor DenseWeights(const at::Tensor& q, const at::Tensor& k) const {
    const int64_t n = q.size(1);
    const auto softmax = [&](const at::Tensor& from, const at::Tensor& to) {
      const double root = std::sqrt(static_cast<double>(q.size(2)));
      return at::softmax(at::einsum("hid,hjd->hij", {from, to}) / root, -1);
    };
    if (n < landmarks_) return softmax(q, k);
    std::vector<at::Tensor> q_means, k_means;
    for (int64_t s = 0, begin = 0; s < landmarks_; ++s) {
      int64_t end = begin;
      while (end < n && end * landmarks_ / n == s) ++end;
      q_means.push_back(q.slice(1, begin, end).mean(1));
      k_means.push_back(k.slice(1, begin, end).mean(1));
      begin = end;
    }
    const at::Tensor q_marks = at::stack(q_means, 1), k_marks = at::stack(k_means, 1);
    const at::Tensor a = softmax(q_marks, k_marks), one = at::eye(landmarks_, a.options());
    at::Tensor z = a.mT() / std::get<0>(a.sum(1).max(1)).view({-1, 1, 1});
    for (int64_t i = 0; i < iterations_; ++i) {
      const at::Tensor az = at::bmm(a, z);  // Z <- Z (13 I - 15 AZ + 7 (AZ)^2 - (AZ)^3) / 4
      const at::Tensor square = at::bmm(az, az);
      z = at::bmm(z, 13 * one - 15 * az + 7 * square - at::bmm(square, az)) / 4;
    }
    return at::bmm(at::bmm(softmax(q, k_marks), z), softmax(q_marks, k));
  }

  // Returns the convolution as weights [H, n, n] between the tokens at the positions `kept`.
  at::Tensor DenseConvolution(const at::Tensor& kept, const at::Tensor& like) const {
    const int64_t width = convolution_.size(1);
    const at::Tensor tap = kept.unsqueeze(0) - kept.unsqueeze(1) + width / 2;  // [n, n]
    const at::Tensor outside = tap.lt(0).logical_or(tap.ge(width));
    return convolution_.to(like.options())
        .index_select(1, tap.clamp(0, width - 1).view(-1))
        .view({like.size(0), kept.numel(), kept.numel()})
        .masked_fill(outside, 0);
  }

  const Traits traits_ = MakeTraits();
  const int64_t landmarks_, iterations_;
  const at::Tensor convolution_;
};

absl::StatusOr<std::unique_ptr<Attention>> MakeNystromformer(const NystromformerOptions& options,
                                                             const AttentionContext& context) {
  const int64_t width = options.convolution_tokens();
  if (width > 0 && width % 2 == 0) {
    return absl::InvalidArgumentError(absl::StrCat("attention.options.convolution_tokens: is ",
                                                   width, ", must be odd, or 0 for none"));
  }
  at::Tensor convolution;
  if (width > 0) {
    // This is the variance of PyTorch's default initialisation, which the authors' code uses.
    convolution = context.parameters->Create(
        context.scope + "convolution", {context.heads, width},
        Initializer::Normal(1 / std::sqrt(3.0 * static_cast<double>(width))));
  }
  return std::make_unique<Nystromformer>(options.landmarks(), options.iterations(), convolution);
}

LRA_REGISTER_ATTENTION("nystromformer", NystromformerOptions, MakeNystromformer);

}  // namespace
}  // namespace lra
