#include "train/statistics_before.h"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <c10/core/GradMode.h>

namespace lra {

StatisticsBefore::StatisticsBefore(const ParameterStore& store) {
  for (const Parameter& buffer : store.buffers()) {
    if (buffer.is_statistic) statistics_.push_back(buffer.value);
  }
  if (!statistics_.empty()) before_ = Flat();
}

at::Tensor StatisticsBefore::Flat() const {
  const c10::NoGradGuard no_gradient;
  std::vector<at::Tensor> flat;
  for (const at::Tensor& statistic : statistics_) flat.push_back(statistic.flatten());
  return at::cat(flat);
}

void StatisticsBefore::Fill(const at::Tensor& flat) const {
  const c10::NoGradGuard no_gradient;
  std::vector<at::Tensor> pieces;
  int64_t begin = 0;
  for (const at::Tensor& statistic : statistics_) {
    pieces.push_back(flat.narrow(0, begin, statistic.numel()).view(statistic.sizes()));
    begin += statistic.numel();
  }
  at::_foreach_copy_(statistics_, pieces);
}

void StatisticsBefore::Restore() const {
  if (before_.defined()) Fill(before_);
}

// Chosen, not weighed: what the step left may be NaN.
void StatisticsBefore::RestoreIf(const at::Tensor& fails) const {
  if (before_.defined()) Fill(at::where(fails.to(at::kBool), before_, Flat()));
}

}  // namespace lra
