// Adam and RAdam for a ParameterStore, with coupled or decoupled decay and clipping. The fields are
// those of lra.OptimizerConfig (lra/config.proto).
#ifndef LRA_TRAIN_OPTIMIZER_H_
#define LRA_TRAIN_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lra/config.pb.h"
#include "models/base/parameters.h"
#include "train/parameter_groups.h"
#include "train/schedule.h"
#include "train/weight_average.h"

namespace lra {

// L2 norms |change| / |weight before| of one step.
struct UpdateRatios {
  double all = 0;
  // The ratio of the token embedding alone (without positions and CLS).
  double embedding = 0;
};

class Optimizer {
 public:
  // `parameters` must outlive the optimiser.
  Optimizer(const OptimizerConfig& config, const ParameterStore& parameters);

  void ZeroGradients();
  // Clips (each gradient by value, then all by their norm), updates, and counts a step. Returns the
  // global L2 norm of the gradients before clipping. If that norm is not finite, nothing is changed
  // and the caller decides what to do. `ratios`, unless null, takes a copy of the weights.
  double Step(const ScheduleValue& schedule, UpdateRatios* ratios = nullptr);

  // Moments and step counters by name ("exp_avg/<parameter>", ...), as a checkpoint stores them;
  // under average_decay also the weights that are trained, so only while UseJudgedWeights() lives.
  std::vector<std::pair<std::string, at::Tensor>> State() const;
  // The model must have the weights of that checkpoint. DataLoss if a name is missing or a shape
  // differs.
  absl::Status Restore(const std::vector<std::pair<std::string, at::Tensor>>& state);

  // Makes the model's weights those that are validated and saved, while it lives: under
  // average_decay the averages, otherwise what they are anyway.
  [[nodiscard]] WeightAverage::Scope UseJudgedWeights() { return WeightAverage::Scope(Average()); }

 private:
  // Parameters with the same decay and rate.
  struct Group {
    double weight_decay = 0;
    double max_learning_rate = 0;  // 0 = no limit of its own
    double rate_scale = 1;
    std::vector<std::string> names;
    std::vector<at::Tensor> values, first_moments, second_moments, steps;
  };
  Group* GroupFor(const UpdateRule& rule);
  std::vector<std::pair<std::string, at::Tensor>> Tensors() const;  // of State()
  void Add(const Parameter& parameter, Group* group) const;
  WeightAverage* Average() { return average_ ? &*average_ : nullptr; }
  double GradientNorm() const;
  double ClipGradients();
  void Update(Group& group, const ScheduleValue& schedule);
  void UpdateRectified(Group& group, double learning_rate, double beta1);
  OptimizerConfig config_;
  std::vector<Group> groups_;
  std::optional<WeightAverage> average_;
};

}  // namespace lra

#endif  // LRA_TRAIN_OPTIMIZER_H_
