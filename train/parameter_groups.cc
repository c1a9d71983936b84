#include "train/parameter_groups.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "datasets/view.h"
#include "lra/status_macros.h"
#include "models/base/shapes_only.h"
#include "models/classifier.h"

namespace lra {
namespace {

// Every layer of the encoder, and the norm behind the last one.
constexpr char kEncoderPrefix[] = "encoder.";
constexpr char kLayerPrefix[] = "encoder.layer";
constexpr char kEmbeddingPrefix[] = "embedding.";

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

// 3 for "encoder.layer3.norm.bias"; nullopt outside the layers.
std::optional<int64_t> LayerOf(absl::string_view name) {
  int64_t layer = 0;
  if (!absl::ConsumePrefix(&name, kLayerPrefix)) return std::nullopt;
  return absl::SimpleAtoi(name.substr(0, name.find('.')), &layer) ? std::optional(layer)
                                                                  : std::nullopt;
}

// How many times a rate is multiplied by layer_rate_decay: 0 for the head, 1 for the last layer,
// one more than there are layers for the embedding.
int64_t DepthBelowHead(absl::string_view name, int64_t layers) {
  if (absl::StartsWith(name, kEmbeddingPrefix)) return layers + 1;
  const std::optional<int64_t> layer = LayerOf(name);
  return layer ? layers - *layer : 0;
}

// "encoder.layer3.norm.bias" -> "encoder.layer*.norm.bias".
std::string NameInAllLayers(const std::string& name) {
  if (!absl::StartsWith(name, kLayerPrefix)) return name;
  return absl::StrCat(kLayerPrefix, "*", name.substr(name.find('.', sizeof(kLayerPrefix) - 1)));
}

ParameterGroup GroupOf(const ExperimentConfig& config, const Parameter& parameter, int64_t layers) {
  const OptimizerConfig& optimizer = config.optimizer();
  const UpdateRule rule = UpdateRuleOf(optimizer, parameter, layers);
  const Schedule schedule(config.schedule(), optimizer, config.train().steps());
  const double own_rate = rule.has_own_rate ? optimizer.state_space_learning_rate() : 0;
  const auto rate_at = [&](int64_t step) {
    return rule.rate_scale * RateOf(own_rate, schedule.At(step));
  };
  ParameterGroup group;
  const bool is_same_everywhere = optimizer.layer_rate_decay() == 1;
  group.name = is_same_everywhere ? NameInAllLayers(parameter.name) : parameter.name;
  group.first_rate = rate_at(0);
  group.second_rate = rate_at(1);
  group.largest_rate = rate_at(schedule.PeakStep());
  group.weight_decay = rule.decays ? optimizer.weight_decay() : 0;
  return group;
}

}  // namespace

int64_t LayerCount(const ParameterStore& parameters) {
  int64_t layers = 0;
  for (const Parameter& parameter : parameters.parameters())
    layers = std::max(layers, LayerOf(parameter.name).value_or(-1) + 1);
  return layers;
}

UpdateRule UpdateRuleOf(const OptimizerConfig& config, const Parameter& parameter, int64_t layers) {
  const double scale = std::pow(config.layer_rate_decay(), DepthBelowHead(parameter.name, layers));
  UpdateRule rule = {DecaysByScope(config.decay_scope(), parameter), false, scale};
  if (config.state_space_learning_rate() <= 0) return rule;
  switch (parameter.role) {
    case ParameterRole::kStateSpace:
      return {false, true, scale};
    case ParameterRole::kTimeStep:
      return {false, config.state_space_rate_covers_step(), scale};
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
  const int64_t layers = LayerCount(model->parameters());
  for (const Parameter& parameter : model->parameters().parameters()) {
    const ParameterGroup group = GroupOf(config, parameter, layers);
    auto known = std::find_if(groups.begin(), groups.end(),
                              [&](const ParameterGroup& g) { return g.name == group.name; });
    if (known == groups.end()) known = groups.insert(groups.end(), group);
    known->scalars += parameter.value.numel();
  }
  return groups;
}

}  // namespace lra
