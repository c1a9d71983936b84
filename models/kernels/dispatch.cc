#include "models/kernels/dispatch.h"

#include <algorithm>

#include "models/base/product_type.h"
#include "models/base/runtime.h"

namespace lra {
namespace {

bool Fits(const KernelNeeds& needs, const at::Tensor& operand, at::ScalarType type) {
  return operand.device().is_cpu() && operand.layout() == at::kStrided &&
         operand.scalar_type() == type && operand.numel() > 0 && !operand.is_conj() &&
         !operand.is_neg() && (!needs.is_contiguous || operand.is_contiguous());
}

}  // namespace

KernelPath DispatchKernel(const KernelNeeds& needs, KernelOperands operands, int64_t rows) {
  const KernelPath path = ActiveKernelPath();
  const at::ScalarType type = operands.begin()->get().scalar_type();
  const bool is_taken =
      path != KernelPath::kGeneric && rows >= needs.fewest_rows && rows <= needs.most_rows &&
      std::find(needs.types.begin(), needs.types.end(), type) != needs.types.end() &&
      !(needs.follows_autocast && IsAutocastOn(at::kCPU) &&
        ActiveProductType() != ProductType::kBfloat16) &&
      std::all_of(operands.begin(), operands.end(), [&](const at::Tensor& operand) {
        return !operand.defined() || Fits(needs, operand, type);
      });
  return is_taken ? path : KernelPath::kGeneric;
}

}  // namespace lra
