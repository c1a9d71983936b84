// What tests of the optimiser begin with.
#ifndef LRA_TRAIN_OPTIMIZER_TEST_UTIL_H_
#define LRA_TRAIN_OPTIMIZER_TEST_UTIL_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>

#include "train/optimizer.h"

namespace lra {

inline OptimizerConfig Config(double clip, OptimizerConfig::DecayScope scope) {
  OptimizerConfig config;
  config.set_beta1(0.9f);
  config.set_beta2(0.98f);
  config.set_epsilon(1e-8f);
  config.set_weight_decay(0.1f);
  config.set_decay_scope(scope);
  config.set_clip_norm(static_cast<float>(clip));
  return config;
}

// The same gradient for every element.
inline void SetGradient(const ParameterStore& store, double value) {
  for (const Parameter& parameter : store.parameters()) {
    at::Tensor(parameter.value).mutable_grad() =
        at::full(parameter.value.sizes(), value, parameter.value.options().requires_grad(false));
  }
}

}  // namespace lra

#endif  // LRA_TRAIN_OPTIMIZER_TEST_UTIL_H_
