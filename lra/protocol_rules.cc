#include "lra/protocol_rules.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lra {
namespace {

// Groups whose fields are rules even where a protocol leaves them unset. Of the other groups
// (model, attention, block) a protocol sets every field that is a rule.
constexpr absl::string_view kRuleGroups[] = {"view.",       "optimizer.", "schedule.", "train.",
                                             "evaluation.", "numerics.",  "pretrain.", "search."};

std::string OriginOfField(const ResolvedConfig& resolved, const std::string& path) {
  const auto origin = resolved.provenance.find(path);
  return origin == resolved.provenance.end() ? "default" : origin->second;
}

// What presets set of the model, and what some token heads alone have.
constexpr absl::string_view kNoRules[] = {"model.layers",
                                          "model.width",
                                          "model.heads",
                                          "model.qkv_width",
                                          "model.mlp_width",
                                          "model.head_width",
                                          "model.mixture_components"};

bool IsRuleByItself(absl::string_view path) {
  return std::any_of(std::begin(kRuleGroups), std::end(kRuleGroups),
                     [&](absl::string_view group) { return absl::StartsWith(path, group); });
}

// The field that says how long the warm-up is.
std::string WarmupField(const ScheduleConfig& schedule) {
  return schedule.has_warmup_steps() ? "schedule.warmup_steps" : "schedule.warmup_fraction";
}

bool IsAskedFor(const ExperimentConfig& rules, const ResolvedConfig& resolved) {
  const ExperimentConfig& config = resolved.config;
  const std::string origin = OriginOfField(resolved, WarmupField(config.schedule()));
  if (!absl::StartsWith(origin, "protocol ") && !absl::StartsWith(origin, "preset ")) return true;
  const int64_t steps = rules.train().steps();
  return steps == config.train().steps() &&
         WarmupSteps(rules.schedule(), steps) == WarmupSteps(config.schedule(), steps);
}

int64_t TrainedExamples(const TrainConfig& train) {
  return static_cast<int64_t>(train.steps()) * train.batch_examples();
}

}  // namespace

absl::string_view ProtocolName(absl::string_view full_name) {
  return full_name.substr(0, full_name.find('@'));
}

absl::string_view ProtocolName(const ExperimentConfig& config) {
  return ProtocolName(absl::string_view(config.protocol()));
}

uint32_t ProtocolVersion(absl::string_view full_name) {
  uint32_t version = 0;
  const size_t at = full_name.find('@');
  if (at == full_name.npos || !absl::SimpleAtoi(full_name.substr(at + 1), &version)) return 0;
  return version;
}

int64_t WarmupSteps(const ScheduleConfig& schedule, int64_t total_steps) {
  return schedule.has_warmup_steps()
             ? schedule.warmup_steps()
             : std::llround(schedule.warmup_fraction() * static_cast<float>(total_steps));
}

bool IsOfFragment(absl::string_view origin) {
  return absl::StartsWith(origin, "protocol ") || absl::StartsWith(origin, "preset ");
}

bool IsMethodRule(absl::string_view origin) {
  return IsOfFragment(origin) && absl::StrContains(origin, "/");
}

bool IsRuleOfProtocols(absl::string_view path) {
  if (IsRuleByItself(path)) return true;
  return absl::StartsWith(path, "model.") &&
         std::find(std::begin(kNoRules), std::end(kNoRules), path) == std::end(kNoRules);
}

std::vector<ChangedRule> ChangedRules(const ExperimentConfig& rules,
                                      const ResolvedConfig& resolved) {
  std::vector<ChangedRule> changed;
  if (!resolved.config.has_protocol()) return changed;
  const auto leaves = LeafFields(rules);
  const std::map<std::string, std::string> said(leaves.begin(), leaves.end());
  for (const auto& [path, value] : LeafFields(resolved.config)) {
    const auto rule = said.find(path);
    const std::string origin = OriginOfField(resolved, path);
    const bool is_changed = rule == said.end()
                                ? IsRuleByItself(path) && !absl::StartsWith(origin, "default")
                                : rule->second != value;
    if (!is_changed) continue;
    ChangedRule& entry = changed.emplace_back();
    entry.set_path(path);
    entry.set_value(value);
    entry.set_origin(origin);
    if (rule != said.end()) entry.set_protocol_value(rule->second);
  }
  return changed;
}

absl::Status CheckWarmup(const ExperimentConfig& rules, const ResolvedConfig& resolved) {
  const ExperimentConfig& config = resolved.config;
  const int64_t steps = config.train().steps(), warmup = WarmupSteps(config.schedule(), steps);
  if (warmup <= steps || IsAskedFor(rules, resolved)) return absl::OkStatus();
  const std::string field = WarmupField(config.schedule());
  return absl::InvalidArgumentError(absl::StrCat(
      field, ": the warm-up of ", warmup, " steps (", OriginOfField(resolved, field),
      ") outlasts the run of ", steps, " (train.steps: ", OriginOfField(resolved, "train.steps"),
      "), so the full learning rate is never reached; train longer, or say how long it is to be: ",
      "--set schedule.warmup_steps=", std::max<int64_t>(1, steps / 10)));
}

std::vector<std::string> BudgetWarnings(const ExperimentConfig& rules,
                                        const ResolvedConfig& resolved) {
  const TrainConfig &train = resolved.config.train(), &full = rules.train();
  std::vector<std::string> warnings;
  if (train.eval_every_steps() > train.steps()) {
    warnings.push_back(absl::StrCat("train.eval_every_steps is ", train.eval_every_steps(),
                                    ", but the run has ", train.steps(),
                                    " steps: validation is looked at once, after the last"));
  }
  if (full.has_steps() && full.has_batch_examples() &&
      TrainedExamples(train) < TrainedExamples(full)) {
    const double share = static_cast<double>(TrainedExamples(train)) / TrainedExamples(full);
    warnings.push_back(absl::StrCat(
        "the budget is ", train.steps(), " steps of ", train.batch_examples(), " examples (",
        OriginOfField(resolved, "train.steps"), "), protocol ", resolved.config.protocol(),
        " says ", full.steps(), " of ", full.batch_examples(),
        absl::StrFormat(": %.3g %% of its examples", 100 * share)));
  }
  return warnings;
}

}  // namespace lra
