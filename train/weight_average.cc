#include "train/weight_average.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "lra/check.h"

namespace lra {

WeightAverage::WeightAverage(double decay, const ParameterStore& store)
    : decay_(decay), updates_(at::zeros({}, at::kDouble)) {
  for (const std::vector<Parameter>* values : {&store.parameters(), &store.buffers()}) {
    for (const Parameter& parameter : *values) {
      const at::Tensor value = parameter.value.detach();  // shares the storage
      if (value.is_floating_point()) pairs_.push_back({parameter.name, value, value.clone()});
    }
  }
}

void WeightAverage::Begin() {
  LRA_CHECK(!is_in_use_);
  const c10::NoGradGuard no_gradient;
  for (Pair& pair : pairs_) pair.other.copy_(pair.value);
  updates_.zero_();
}

double WeightAverage::NextShare() const {
  const double updates = updates_.item<double>() + 1;
  return 1 - std::min(decay_, updates / (9 + updates));
}

void WeightAverage::Add(const at::Tensor& is_void, const at::Tensor& share) {
  LRA_CHECK(!is_in_use_);
  const c10::NoGradGuard no_gradient;
  const double own_share = NextShare();
  if (!is_void.defined()) {
    for (Pair& pair : pairs_) pair.other.lerp_(pair.value, own_share);
  } else {
    const at::Tensor counts = share.defined() ? (1 - is_void) * share : (1 - is_void) * own_share;
    for (Pair& pair : pairs_) pair.other.lerp_(pair.value, counts.to(pair.value.scalar_type()));
  }
  CountUpdates(1);  // at last: one that throws is none
}

void WeightAverage::Exchange() {
  const c10::NoGradGuard no_gradient;
  for (Pair& pair : pairs_) {
    const at::Tensor kept = pair.value.clone();
    pair.value.copy_(pair.other);
    pair.other.copy_(kept);
  }
}

std::vector<std::pair<std::string, at::Tensor>> WeightAverage::State() const {
  std::vector<std::pair<std::string, at::Tensor>> state;
  for (const Pair& pair : pairs_) state.emplace_back("trained/" + pair.name, pair.other);
  state.emplace_back("average_updates", updates_);
  return state;
}

WeightAverage::Scope::Scope(WeightAverage* average) : average_(average) {
  if (average_ == nullptr) return;
  LRA_CHECK(!average_->is_in_use_);
  average_->Exchange();
  average_->is_in_use_ = true;
}

WeightAverage::Scope::~Scope() {
  if (average_ == nullptr) return;
  average_->Exchange();
  average_->is_in_use_ = false;
}

}  // namespace lra
