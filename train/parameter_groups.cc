#include "train/parameter_groups.h"

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "datasets/view.h"
#include "lra/status_macros.h"
#include "models/base/shapes_only.h"
#include "models/classifier.h"

namespace lra {
namespace {

// Every layer of the encoder, and the norm behind the last one.
constexpr char kEncoderPrefix[] = "encoder.";
constexpr char kLayerPrefix[] = "encoder.layer";

bool DecaysByScope(OptimizerConfig::DecayScope scope, const Parameter& parameter) {
  switch (scope) {
    case OptimizerConfig::ALL_PARAMETERS:
      return true;
    case OptimizerConfig::ALL_BUT_NORMS_AND_LAYER_BIASES:
      return parameter.role != ParameterRole::kNorm &&
             !(absl::StartsWith(parameter.name, kEncoderPrefix) &&
               absl::EndsWith(parameter.name, ".bias"));
    default:
      return parameter.is_matrix;
  }
}

// "encoder.layer3.norm.bias" -> "encoder.layer*.norm.bias".
std::string NameInAllLayers(const std::string& name) {
  if (!absl::StartsWith(name, kLayerPrefix)) return name;
  return absl::StrCat(kLayerPrefix, "*", name.substr(name.find('.', sizeof(kLayerPrefix) - 1)));
}

ParameterGroup GroupOf(const ExperimentConfig& config, const Parameter& parameter) {
  const OptimizerConfig& optimizer = config.optimizer();
  const UpdateRule rule = UpdateRuleOf(optimizer, parameter);
  const Schedule schedule(config.schedule(), optimizer, config.train().steps());
  const double own_rate = rule.has_own_rate ? optimizer.state_space_learning_rate() : 0;
  ParameterGroup group;
  group.name = NameInAllLayers(parameter.name);
  group.first_rate = RateOf(own_rate, schedule.At(0));
  group.second_rate = RateOf(own_rate, schedule.At(1));
  group.largest_rate = RateOf(own_rate, schedule.At(schedule.warmup_steps()));
  group.weight_decay = rule.decays ? optimizer.weight_decay() : 0;
  return group;
}

}  // namespace

UpdateRule UpdateRuleOf(const OptimizerConfig& config, const Parameter& parameter) {
  UpdateRule rule = {DecaysByScope(config.decay_scope(), parameter), false};
  if (config.state_space_learning_rate() <= 0) return rule;
  switch (parameter.role) {
    case ParameterRole::kStateSpace:
      return {false, true};
    case ParameterRole::kTimeStep:
      return {false, config.state_space_rate_covers_step()};
    case ParameterRole::kReadOut:
      rule.has_own_rate = config.state_space_rate_covers_read_out();
      return rule;
    default:
      return rule;
  }
}

double RateOf(double max_learning_rate, const ScheduleValue& schedule) {
  const double base =
      schedule.base_learning_rate > 0 ? schedule.base_learning_rate : schedule.learning_rate;
  if (max_learning_rate <= 0 || base <= max_learning_rate) return schedule.learning_rate;
  return schedule.learning_rate * max_learning_rate / base;
}

absl::StatusOr<std::vector<ParameterGroup>> ListParameterGroups(const ExperimentConfig& config,
                                                                const TaskSpec& stored) {
  const ShapesOnlyScope shapes_only;
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Classifier> model,
                       Classifier::Create(config, SpecWithoutData(stored, config.view())));
  std::vector<ParameterGroup> groups;
  for (const Parameter& parameter : model->parameters().parameters()) {
    const ParameterGroup group = GroupOf(config, parameter);
    auto known = std::find_if(groups.begin(), groups.end(),
                              [&](const ParameterGroup& g) { return g.name == group.name; });
    if (known == groups.end()) known = groups.insert(groups.end(), group);
    known->scalars += parameter.value.numel();
  }
  return groups;
}

}  // namespace lra
