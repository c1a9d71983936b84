// Which learning rate and which weight decay each parameter of a model has: what
// lra.OptimizerConfig (lra/config.proto) says about parameters by their role and place.
#ifndef LRA_TRAIN_PARAMETER_GROUPS_H_
#define LRA_TRAIN_PARAMETER_GROUPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lra/config.pb.h"
#include "lra/task_spec.pb.h"
#include "models/base/parameters.h"
#include "train/schedule.h"

namespace lra {

// How the optimiser treats one parameter.
struct UpdateRule {
  bool decays = false;
  bool has_own_rate = false;  // optimizer.state_space_learning_rate is its largest rate
  double rate_scale = 1;      // optimizer.layer_rate_decay to the power of its depth below the head
};
// `layers` of the encoder: LayerCount().
UpdateRule UpdateRuleOf(const OptimizerConfig& config, const Parameter& parameter, int64_t layers);

// How many layers of the encoder have parameters.
int64_t LayerCount(const ParameterStore& parameters);

// The rate at one step of parameters that may have a largest rate of their own (0 = none). With
// one, they follow the schedule scaled down to that rate, as in state-spaces/s4.
double RateOf(double max_learning_rate, const ScheduleValue& schedule);

// Parameters of one name in all layers of a model, as the optimiser treats them. Where rates differ
// from layer to layer, each layer has groups of its own.
struct ParameterGroup {
  std::string name;                        // "encoder.layer*.attention.log_step"
  int64_t scalars = 0;                     // trained, over all layers
  double first_rate = 0, second_rate = 0;  // at the optimiser's steps 0 and 1
  double largest_rate = 0;                 // before PLATEAU lowers any
  double weight_decay = 0;
};

// The groups of the model of `config` in order of creation. `stored` is the task's spec; where ids
// depend on the training texts, scalars of the token embedding are those of an empty vocabulary.
// The errors of Classifier::Create.
absl::StatusOr<std::vector<ParameterGroup>> ListParameterGroups(const ExperimentConfig& config,
                                                                const TaskSpec& stored);

}  // namespace lra

#endif  // LRA_TRAIN_PARAMETER_GROUPS_H_
