#include "models/kernels/segment_means.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "lra/check.h"
#include "models/kernels/dispatch.h"
#include "models/kernels/head_rows.h"
#include "models/kernels/token_projection.h"

namespace lra {
namespace {

// The segments of a batch.
class Segments {
 public:
  Segments(const at::Tensor& keep, int64_t count)
      : keep_(keep.contiguous()), count_(count), tokens_(keep.size(1)) {
    const bool* kept = keep_.const_data_ptr<bool>();
    for (int64_t b = 0; b < keep_.size(0); ++b, kept += tokens_) {
      int64_t all = 0, before = 0, next = 0;
      for (int64_t n = 0; n < tokens_; ++n) all += kept[n] ? 1 : 0;
      for (int64_t n = 0; n < tokens_; ++n) {
        if (!kept[n]) continue;
        // A segment begins with the first kept token that is in it.
        if (before++ * count / all == next) {
          starts_.push_back(n);
          ++next;
        }
      }
      LRA_CHECK(next == count);
      starts_.push_back(tokens_);
    }
  }

  // Calls use(token, 1 / tokens of the segment) for each kept token of the segment.
  template <class Use>
  void ForTokens(int64_t example, int64_t segment, Use use) const {
    const int64_t* start = starts_.data() + example * (count_ + 1) + segment;
    const bool* kept = keep_.const_data_ptr<bool>() + example * tokens_;
    int64_t size = 0;
    for (int64_t n = start[0]; n < start[1]; ++n) size += kept[n] ? 1 : 0;
    for (int64_t n = start[0]; n < start[1]; ++n) {
      if (kept[n]) use(n, 1.0f / static_cast<float>(size));
    }
  }

  // body(example, segment) in parallel.
  template <class Body>
  void ForEach(Body body) const {
    at::parallel_for(0, keep_.size(0) * count_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(i / count_, i % count_);
    });
  }

 private:
  const at::Tensor keep_;
  const int64_t count_, tokens_;
  std::vector<int64_t> starts_;  // [B, segments + 1]
};

class SegmentMeansFunction : public torch::autograd::Function<SegmentMeansFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& keep, int64_t count) {
    context->saved_data["keep"] = keep;
    context->saved_data["sizes"] = x.sizes();
    const int64_t heads = x.size(1), width = x.size(3);
    const at::Tensor means = EmptyHeads(x.narrow(2, 0, count), width).zero_();
    const HeadRows from(x), to(means);
    const Segments segments(keep, count);
    segments.ForEach([&](int64_t example, int64_t segment) {
      segments.ForTokens(example, segment, [&](int64_t token, float share) {
        for (int64_t h = 0; h < heads; ++h) {
          const float* row = from.At(example, h, token);
          float* mean = to.At(example, h, segment);
          for (int64_t c = 0; c < width; ++c) mean[c] += share * row[c];
        }
      });
    });
    return means;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list upstream) {
    const at::Tensor keep = context->saved_data["keep"].toTensor();
    const std::vector<int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const int64_t heads = sizes[1], width = sizes[3];
    const at::Tensor dx =
        at::zeros({sizes[0], sizes[2], heads, width}, upstream[0].options()).transpose(1, 2);
    const HeadRows gradient(upstream[0]), to(dx);
    const Segments segments(keep, upstream[0].size(2));
    segments.ForEach([&](int64_t example, int64_t segment) {
      segments.ForTokens(example, segment, [&](int64_t token, float share) {
        for (int64_t h = 0; h < heads; ++h) {
          const float* row = gradient.At(example, h, segment);
          float* out = to.At(example, h, token);
          for (int64_t c = 0; c < width; ++c) out[c] = share * row[c];
        }
      });
    });
    return {dx, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

namespace internal {

at::Tensor SegmentMeansGeneric(const at::Tensor& x, const at::Tensor& keep, int64_t segments) {
  const at::Tensor kept = keep.to(at::kLong);
  const at::Tensor rank = kept.cumsum(1) - kept;
  const at::Tensor segment = at::floor_divide(rank * segments, kept.sum(1, true));  // [B, N]
  const at::Tensor rows = at::arange(segments, segment.options()).view({1, segments, 1});
  const at::Tensor members =
      rows.eq(segment.unsqueeze(1)).logical_and(keep.unsqueeze(1)).to(x.options());
  return ProjectTokens(members / members.sum(2, true), x);
}

}  // namespace internal

at::Tensor SegmentMeans(const at::Tensor& x, const at::Tensor& keep, int64_t segments) {
  LRA_CHECK(x.dim() == 4 && keep.dim() == 2 && keep.size(1) == x.size(2) && segments >= 1);
  if (DispatchKernel(KernelNeeds(), {x}) == KernelPath::kGeneric)
    return internal::SegmentMeansGeneric(x, keep, segments);
  return SegmentMeansFunction::apply(x, keep, segments);
}

}  // namespace lra
