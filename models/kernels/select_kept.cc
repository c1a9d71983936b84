#include "models/kernels/select_kept.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace lra {

at::Tensor SelectKept(const at::Tensor& t, const at::Tensor& keep, KeptLayout layout) {
  if (!keep.defined()) return t;
  const at::Tensor kept = keep.view({keep.size(0), 1, keep.size(1), 1});
  if (layout == KeptLayout::kContiguous) return t.masked_fill(kept.logical_not(), 0);
  return at::where(kept, t, at::zeros({}, t.options()));
}

}  // namespace lra
