// Adam and RAdam for a ParameterStore, with coupled or decoupled decay and clipping. The fields are
// those of lra.OptimizerConfig (lra/config.proto).
#ifndef LRA_TRAIN_OPTIMIZER_H_
#define LRA_TRAIN_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lra/config.pb.h"
#include "models/base/parameters.h"
#include "train/parameter_groups.h"
#include "train/schedule.h"
#include "train/statistics_before.h"
#include "train/weight_average.h"

namespace lra {

// L2 norms |change| / |weight before| of one step.
struct UpdateRatios {
  double all = 0;
  // The ratio of the token embedding alone (without positions, CLS and stem).
  double embedding = 0;
};

class Optimizer {
 public:
  // `parameters` must outlive the optimiser.
  Optimizer(const OptimizerConfig& config, const ParameterStore& parameters);

  void ZeroGradients();
  // Clips (each gradient by value, then by norm as clip_scope says), updates, and counts a step.
  // Returns the global L2 norm of the gradients before clipping. If that norm is not finite,
  // nothing is changed and the caller decides what to do. `ratios`, unless null, takes a copy of
  // the weights.
  double Step(const ScheduleValue& schedule, UpdateRatios* ratios = nullptr);

  // Whether the parameters are on a device.
  bool can_step_on_device() const;
  // The same without waiting for the device: the norm, float64 [], stays there. Once it or `loss`,
  // a number of any type, is not finite, neither this call nor a later one changes anything.
  // `rates`, where they are defined, are Rates() on the device and stand for those of the schedule.
  // With an update the statistics are void, too: they go back to `before`, where it is given.
  at::Tensor StepOnDevice(const ScheduleValue& schedule, const at::Tensor& loss,
                          const at::Tensor& rates = {}, const StatisticsBefore* before = nullptr);

  // All that changes from step to step where StepOnDevice() may be repeated by a graph, float32 on
  // the host: the next update's learning rate of each group of parameters or, where it goes by
  // them, its factors, [groups, Factors::kCount]; under average_decay one row more, which begins
  // with the average's share.
  at::Tensor Rates(const ScheduleValue& schedule) const;
  // Counts updates that a graph repeated, or takes back that of a call that only captured it.
  void CountUpdates(int64_t more);

  // Moments and step counters by name ("exp_avg/<parameter>", ...), as a checkpoint stores them;
  // under average_decay also the weights that are trained, so only while UseJudgedWeights() lives.
  std::vector<std::pair<std::string, at::Tensor>> State() const;
  // The model must have the weights of that checkpoint. DataLoss if a name is missing or a shape
  // differs.
  absl::Status Restore(const std::vector<std::pair<std::string, at::Tensor>>& state);
  // Takes the number of updates from the step counters, after somebody filled the tensors of
  // State(): what the host computes goes by it.
  void CountFromSteps();
  // Under average_decay the average begins anew, as the model's values are now: after weights were
  // loaded and before the first step.
  void BeginAverage();

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
  // On a device it is rounded to float32, as a graph reads it there.
  static double RateOfGroup(const Group& group, const ScheduleValue& schedule);
  // clip_scope = EACH_PARAMETER.
  void ClipEach();
  void ClipEachOnDevice(const std::vector<at::Tensor>& gradients) const;
  Group* GroupFor(const UpdateRule& rule);
  std::vector<std::pair<std::string, at::Tensor>> Tensors() const;  // of State()
  void Add(const Parameter& parameter, Group* group) const;
  WeightAverage* Average() { return average_ ? &*average_ : nullptr; }
  std::vector<at::Tensor> Gradients() const;
  double GradientNorm() const;
  double ClipGradients();
  void Update(Group& group, const ScheduleValue& schedule);
  // The update of a weight w with gradient g and moments m, v, which RADAM and, on a device, Adam
  // under a schedule that moves beta1 go by: m = beta1 m + (1 - beta1) g, and
  // w = kept w - adaptive m / (root sqrt(v) + epsilon) - plain m, where one of the two is 0.
  struct Factors {
    enum Place { kBeta1, kKept, kRoot, kAdaptive, kPlain, kCount };  // in a row of Rates()
    double beta1, kept, root, adaptive = 0, plain = 0;
    std::array<double, kCount> Row() const { return {beta1, kept, root, adaptive, plain}; }
  };
  bool GoesByFactors(const ScheduleValue& schedule) const {
    return config_.kind() == OptimizerConfig::RADAM || schedule.moves_beta1;
  }
  Factors FactorsAt(const Group& group, const ScheduleValue& schedule, int64_t update) const;
  // The factors of the update under way, float32 [Factors::kCount].
  at::Tensor FactorsOnDevice(const Group& group, const ScheduleValue& schedule) const;
  void UpdateRectified(Group& group, const ScheduleValue& schedule);
  // `factors` is a row of Rates() on the device.
  void UpdateByFactorsOnDevice(Group& group, std::vector<at::Tensor> gradients,
                               const at::Tensor& factors);
  // `rate` is a number, or a tensor float32 []. `is_void`, if given, is float32 []: where it is 1,
  // nothing changes.
  template <class Rate>
  void Adam(Group& group, const std::vector<at::Tensor>& gradients, const Rate& rate, double beta1,
            const std::optional<at::Tensor>& is_void) const;
  // `rate`, where it is defined, is the group's row of Rates() and stands for the schedule's.
  void UpdateOnDevice(Group& group, const ScheduleValue& schedule, const at::Tensor& rate);
  void NoteFailure(const at::Tensor& fails);
  OptimizerConfig config_;
  std::vector<Group> groups_;
  int64_t updates_ = 0;  // as the step counters hold it, but for void updates
  std::optional<WeightAverage> average_;
  at::Tensor has_failed_;  // float32 [] on a device: 1 once a number was not finite
};

}  // namespace lra

#endif  // LRA_TRAIN_OPTIMIZER_H_
