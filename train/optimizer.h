// AdamW over a ParameterStore: decoupled decay multiplied by the scheduled rate, global-norm
// clipping.
#ifndef LRA_TRAIN_OPTIMIZER_H_
#define LRA_TRAIN_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lra/config.pb.h"
#include "models/parameters.h"
#include "train/schedule.h"

namespace lra {

class AdamW {
 public:
  // `parameters` must outlive the optimiser.
  AdamW(const OptimizerConfig& config, const ParameterStore& parameters);

  void ZeroGradients();
  // Clips, updates, counts a step. Returns the gradients' global L2 norm before clipping; nothing
  // is changed when that norm is not finite (the caller decides).
  double Step(const ScheduleValue& schedule);

  // Moments and step counters by name ("exp_avg/<parameter>", ...): what a checkpoint stores.
  std::vector<std::pair<std::string, at::Tensor>> State() const;
  // DataLoss when a name is missing or a shape differs.
  absl::Status Restore(const std::vector<std::pair<std::string, at::Tensor>>& state);

 private:
  // Parameters that share a decay.
  struct Group {
    double weight_decay = 0;
    std::vector<std::string> names;
    std::vector<at::Tensor> values, first_moments, second_moments, steps;
  };
  double ClipGradients();
  void Update(Group& group, const ScheduleValue& schedule);
  OptimizerConfig config_;
  std::vector<Group> groups_;
};

}  // namespace lra

#endif  // LRA_TRAIN_OPTIMIZER_H_
