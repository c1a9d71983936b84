// Stores a dropout key among what an autograd function keeps for its backward.
#ifndef LRA_MODELS_KERNELS_SAVED_DROPOUT_KEY_H_
#define LRA_MODELS_KERNELS_SAVED_DROPOUT_KEY_H_

#include <cstdint>
#include <string>

#include "models/kernels/dropout.h"

namespace lra {

// SavedData is AutogradContext::saved_data; `name` distinguishes several keys of one function.
template <class SavedData>
void SaveDropoutKey(const std::string& name, const DropoutKey& key, SavedData* saved) {
  (*saved)[name + ".probability"] = key.probability;
  (*saved)[name + ".seed"] = static_cast<int64_t>(key.seed);
  (*saved)[name + ".step"] = static_cast<int64_t>(key.step);
  (*saved)[name + ".site"] = static_cast<int64_t>(key.site);
  (*saved)[name + ".is_tied"] = key.is_tied;
  if (key.active()) (*saved)[name + ".example_ids"] = key.example_ids;
  if (key.ids_on_device.defined()) (*saved)[name + ".ids_on_device"] = key.ids_on_device;
  if (key.step_on_device.defined()) (*saved)[name + ".step_on_device"] = key.step_on_device;
}

template <class SavedData>
DropoutKey LoadDropoutKey(const std::string& name, SavedData* saved) {
  DropoutKey key;
  key.probability = (*saved)[name + ".probability"].toDouble();
  key.seed = static_cast<uint32_t>((*saved)[name + ".seed"].toInt());
  key.step = static_cast<uint32_t>((*saved)[name + ".step"].toInt());
  key.site = static_cast<uint32_t>((*saved)[name + ".site"].toInt());
  key.is_tied = (*saved)[name + ".is_tied"].toBool();
  if (key.active()) key.example_ids = (*saved)[name + ".example_ids"].toTensor();
  const auto ids = saved->find(name + ".ids_on_device");
  if (ids != saved->end()) key.ids_on_device = ids->second.toTensor();
  const auto step = saved->find(name + ".step_on_device");
  if (step != saved->end()) key.step_on_device = step->second.toTensor();
  return key;
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_SAVED_DROPOUT_KEY_H_
