#include "models/kernels/cuda_kernels.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <limits>

#include "models/base/cuda_graph.h"
#include "models/base/cuda_library.h"
#include "models/kernels/channel_rows.h"
#include "models/kernels/norm_rows.h"

namespace lra {
namespace {

template <class Plan>
using Kernel = int(const Plan*, void*);
using DrawKept = int(const KeptPlan*, bool*, void*);

template <class Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(CudaFunction(name));
}

struct Kernels {
  CudaStreamFunction* stream = Find<CudaStreamFunction>("LraCurrentStream");
  DrawKept* draw_kept = Find<DrawKept>("LraDrawKept");
  Kernel<NormRowsPlan>* norm = Find<Kernel<NormRowsPlan>>("LraNormForward");
  Kernel<NormRowsBackwardPlan>* norm_backward =
      Find<Kernel<NormRowsBackwardPlan>>("LraNormBackward");
  Kernel<ChannelPlan>* channels = Find<Kernel<ChannelPlan>>("LraChannelConvolution");
  Kernel<FilterGradientPlan>* filter_gradient =
      Find<Kernel<FilterGradientPlan>>("LraFilterGradient");
  // A library of this version has all of them.
  bool are_there() const { return stream != nullptr; }
};

const Kernels& Loaded() {
  static const Kernels kernels;
  return kernels;
}

// Calls launch(stream), which returns an error or 0, for the device of `on`.
template <class Launch>
void LaunchOn(const at::Tensor& on, const char* what, Launch launch) {
  const c10::impl::VirtualGuardImpl guard(at::kCUDA);
  const at::Device before = guard.exchangeDevice(on.device());
  const int error = launch(Loaded().stream(on.device().index()));
  guard.setDevice(before);
  TORCH_CHECK(error == 0, "the CUDA kernel of ", what, " failed with error ", error);
}

bool IsFloatRowBeside(const at::Tensor& x, const at::Tensor& t) {
  return t.defined() && t.device() == x.device() && t.scalar_type() == at::kFloat &&
         t.is_contiguous() && t.dim() == 1 && t.size(0) == x.size(-1);
}

}  // namespace

at::Tensor DrawKeptOnCuda(KeptPlan plan, const at::Tensor& ids, const at::Tensor& step) {
  if (!ids.is_cuda() || !Loaded().are_there()) return {};
  plan.example_ids = ids.const_data_ptr<int64_t>();
  plan.step_at = step.defined() ? step.const_data_ptr<int64_t>() : nullptr;
  at::Tensor mask = at::empty({plan.examples, plan.heads, plan.rows, plan.columns},
                              ids.options().dtype(at::kBool));
  LaunchOn(ids, "dropout masks", [&](void* stream) {
    return Loaded().draw_kept(&plan, mask.mutable_data_ptr<bool>(), stream);
  });
  return mask;
}

bool HasNormOnCuda(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const int64_t width = x.size(-1);
  return x.is_cuda() && x.scalar_type() == at::kFloat && width >= 1 && width <= kMostNormWidth &&
         IsFloatRowBeside(x, weight) && IsFloatRowBeside(x, bias) && Loaded().are_there();
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> NormOnCuda(const at::Tensor& x,
                                                          const at::Tensor& weight,
                                                          const at::Tensor& bias, double epsilon) {
  const int64_t rows = x.numel() / x.size(-1);
  const at::Tensor y = at::empty_like(x), means = at::empty({rows}, x.options()),
                   scales = at::empty({rows}, x.options());
  const NormRowsPlan plan = {.x = x.const_data_ptr<float>(),
                             .weight = weight.const_data_ptr<float>(),
                             .bias = bias.const_data_ptr<float>(),
                             .y = y.mutable_data_ptr<float>(),
                             .means = means.mutable_data_ptr<float>(),
                             .scales = scales.mutable_data_ptr<float>(),
                             .rows = rows,
                             .width = x.size(-1),
                             .epsilon = static_cast<float>(epsilon)};
  LaunchOn(x, "layer norms", [&](void* stream) { return Loaded().norm(&plan, stream); });
  return {y, means, scales};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> NormBackwardOnCuda(const at::Tensor& x,
                                                                  const at::Tensor& weight,
                                                                  const at::Tensor& means,
                                                                  const at::Tensor& scales,
                                                                  const at::Tensor& upstream) {
  const int64_t rows = means.size(0), width = x.size(-1), blocks = NormBlocks(rows);
  const at::Tensor dx = at::empty_like(x), partials = at::empty({blocks, 2, width}, x.options());
  const NormRowsBackwardPlan plan = {.x = x.const_data_ptr<float>(),
                                     .upstream = upstream.const_data_ptr<float>(),
                                     .weight = weight.const_data_ptr<float>(),
                                     .means = means.const_data_ptr<float>(),
                                     .scales = scales.const_data_ptr<float>(),
                                     .dx = dx.mutable_data_ptr<float>(),
                                     .partials = partials.mutable_data_ptr<float>(),
                                     .rows = rows,
                                     .width = width,
                                     .blocks = blocks};
  LaunchOn(x, "the backward of layer norms",
           [&](void* stream) { return Loaded().norm_backward(&plan, stream); });
  const at::Tensor sums = partials.sum(0);
  return {dx, sums[0], sums[1]};
}

bool HasChannelsOnCuda(const at::Tensor& x, const at::Tensor& filters) {
  const auto is_dense = [&](const at::Tensor& t) {
    return t.scalar_type() == at::kFloat && t.is_contiguous() && t.device() == x.device();
  };
  constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max(), kMostWidth = 1 << 16;
  return x.is_cuda() && is_dense(x) && is_dense(filters) && x.numel() > 0 &&
         x.size(2) <= kMostWidth && filters.size(0) <= kMostChannelTaps &&
         x.size(0) * x.size(1) <= kMostRows && Loaded().are_there();
}

at::Tensor ConvolveChannelsOnCuda(const at::Tensor& x, const at::Tensor& filters, int64_t before,
                                  bool is_reversed) {
  const at::Tensor y = at::empty_like(x);
  const ChannelPlan plan = {.x = x.const_data_ptr<float>(),
                            .filters = filters.const_data_ptr<float>(),
                            .y = y.mutable_data_ptr<float>(),
                            .rows = static_cast<uint32_t>(x.size(0) * x.size(1)),
                            .tokens = static_cast<uint32_t>(x.size(1)),
                            .width = static_cast<uint32_t>(x.size(2)),
                            .taps = static_cast<uint32_t>(filters.size(0)),
                            .before = static_cast<uint32_t>(before),
                            .is_reversed = is_reversed};
  LaunchOn(x, "filters", [&](void* stream) { return Loaded().channels(&plan, stream); });
  return y;
}

at::Tensor FilterGradientOnCuda(const at::Tensor& x, const at::Tensor& upstream, int64_t taps,
                                int64_t before) {
  const int64_t rows = x.size(0) * x.size(1), blocks = FilterBlocks(rows);
  const at::Tensor partials = at::empty({blocks, taps, x.size(2)}, x.options());
  const FilterGradientPlan plan = {.x = x.const_data_ptr<float>(),
                                   .upstream = upstream.const_data_ptr<float>(),
                                   .partials = partials.mutable_data_ptr<float>(),
                                   .rows = static_cast<uint32_t>(rows),
                                   .tokens = static_cast<uint32_t>(x.size(1)),
                                   .width = static_cast<uint32_t>(x.size(2)),
                                   .taps = static_cast<uint32_t>(taps),
                                   .before = static_cast<uint32_t>(before),
                                   .blocks = static_cast<uint32_t>(blocks)};
  LaunchOn(x, "the gradient of filters",
           [&](void* stream) { return Loaded().filter_gradient(&plan, stream); });
  return partials.sum(0);
}

}  // namespace lra
