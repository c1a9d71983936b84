#include "models/kernels/packed_weights.h"

namespace lra {
namespace {

thread_local PackedWeights* active_weights = nullptr;

bool IsPlainMatrix(const at::Tensor& t) {
  return t.defined() && t.dim() == 2 && t.numel() > 0 && t.scalar_type() == at::kFloat &&
         t.device().is_cpu() && t.is_contiguous();
}

std::vector<at::Tensor> ValuesOf(const ParameterStore& model) {
  std::vector<at::Tensor> values;
  for (const Parameter& parameter : model.parameters()) values.push_back(parameter.value);
  return values;
}

}  // namespace

PackedWeights::PackedWeights(const ParameterStore& model) : PackedWeights(ValuesOf(model)) {}

PackedWeights::PackedWeights(const std::vector<at::Tensor>& weights) {
  for (const at::Tensor& weight : weights) {
    if (!IsPlainMatrix(weight)) continue;
    entries_.emplace(weight.const_data_ptr(), Entry{weight.detach(), std::nullopt, 0u});
  }
}

const PackedMatrix* PackedWeights::Find(const at::Tensor& weight, ProductType type) {
  const auto found = entries_.find(weight.const_data_ptr());
  if (found == entries_.end() || found->second.weight.sizes() != weight.sizes() ||
      !IsPlainMatrix(weight)) {
    return nullptr;
  }
  Entry& entry = found->second;
  const uint32_t version = entry.weight._version();
  if (!entry.packed || entry.version != version || !entry.packed->IsFor(type)) {
    const MatrixView transposed = {weight.const_data_ptr<float>(), weight.size(1), true};
    entry.packed.emplace(weight.size(0), weight.size(1), transposed, type);
    entry.version = version;
  }
  return &*entry.packed;
}

PackedWeightsScope::PackedWeightsScope(PackedWeights* weights) : previous_(active_weights) {
  active_weights = weights;
}

PackedWeightsScope::~PackedWeightsScope() { active_weights = previous_; }

const PackedMatrix* PackedWeightsScope::Find(const at::Tensor& weight, ProductType type) {
  return active_weights == nullptr ? nullptr : active_weights->Find(weight, type);
}

}  // namespace lra
