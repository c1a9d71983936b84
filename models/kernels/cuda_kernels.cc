#include "models/kernels/cuda_kernels.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "models/base/cuda_graph.h"
#include "models/base/cuda_library.h"

namespace lra {
namespace {

using DrawKept = int(const KeptPlan*, bool*, void*);

struct Kernels {
  DrawKept* draw_kept = reinterpret_cast<DrawKept*>(CudaFunction("LraDrawKept"));
  CudaStreamFunction* stream =
      reinterpret_cast<CudaStreamFunction*>(CudaFunction("LraCurrentStream"));
  bool are_there() const { return draw_kept != nullptr && stream != nullptr; }
};

const Kernels& Loaded() {
  static const Kernels kernels;
  return kernels;
}

}  // namespace

at::Tensor DrawKeptOnCuda(KeptPlan plan, const at::Tensor& ids, const at::Tensor& step) {
  if (!ids.is_cuda() || !Loaded().are_there()) return {};
  plan.example_ids = ids.const_data_ptr<int64_t>();
  plan.step_at = step.defined() ? step.const_data_ptr<int64_t>() : nullptr;
  at::Tensor mask = at::empty({plan.examples, plan.heads, plan.rows, plan.columns},
                              ids.options().dtype(at::kBool));
  const c10::impl::VirtualGuardImpl guard(at::kCUDA);
  const at::Device before = guard.exchangeDevice(ids.device());
  const int error = Loaded().draw_kept(&plan, mask.mutable_data_ptr<bool>(),
                                       Loaded().stream(ids.device().index()));
  guard.setDevice(before);
  TORCH_CHECK(error == 0, "the CUDA kernel of dropout masks failed with error ", error);
  return mask;
}

}  // namespace lra
