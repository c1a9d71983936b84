#include "lra/config_check.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// Fields that may stay unset: the warm-up has two spellings, most of a view belongs to one content
// (SplitView knows which: tests/views_test.cc holds the protocols against it), some belong to one
// value of another field or mean nothing to the block, and a run need neither be pretrained nor
// searched for.
bool MayBeUnset(const ExperimentConfig& config, const std::set<std::string>& idle_fields,
                absl::string_view path) {
  if (idle_fields.count(std::string(path)) > 0) return true;
  if (absl::StartsWith(path, "schedule.plateau_"))
    return config.schedule().kind() != ScheduleConfig::PLATEAU;
  if (path == "evaluation.step")
    return config.evaluation().selection() != EvaluationConfig::FIXED_STEP;
  if (path == "evaluation.scored_examples") return true;
  if (path == "pretrain.masked_fraction" && config.pretrain().objective() == PretrainConfig::CAUSAL)
    return true;
  if (absl::StartsWith(path, "pretrain.")) return !config.has_pretrain();
  if (absl::StartsWith(path, "search.")) return !config.has_search();
  return path == "schedule.warmup_steps" || path == "schedule.warmup_fraction" ||
         (absl::StartsWith(path, "view.") && path != "view.max_length_tokens") ||
         path == "attention.options" || path == "block.options";
}

absl::Status CheckComplete(const ExperimentConfig& config,
                           const std::set<std::string>& idle_fields) {
  if (!config.attention().has_name()) {
    return absl::InvalidArgumentError("attention.name is unset: no attention was chosen");
  }
  std::vector<std::string> missing;
  for (const std::string& path : UnsetFields(config)) {
    if (!MayBeUnset(config, idle_fields, path)) missing.push_back(path);
  }
  if (!config.schedule().has_warmup_steps() && !config.schedule().has_warmup_fraction()) {
    missing.push_back("schedule.warmup_steps or schedule.warmup_fraction");
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("unset: ", absl::StrJoin(missing, ", "), " (protocol ",
                   config.has_protocol() ? config.protocol() : "none", ", preset ",
                   config.has_preset() ? config.preset() : "none", ", task ", config.task(), ")"));
}

absl::Status CheckSearch(const SearchConfig& search) {
  const auto& rates = search.learning_rate();
  if (search.budget_trials() > rates.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "search.budget_trials = ", search.budget_trials(), ", but search.learning_rate has ",
        rates.size(), " values; every trial needs one"));
  }
  for (int i = 0; i < rates.size(); ++i) {
    if (rates[i] > 0 && std::find(rates.begin(), rates.begin() + i, rates[i]) == rates.begin() + i)
      continue;
    return absl::InvalidArgumentError(absl::StrCat("search.learning_rate[", i, "] = ", rates[i],
                                                   ": must be above 0 and occur once"));
  }
  return absl::OkStatus();
}

absl::Status CheckAgreement(const ModelConfig& model) {
  if (model.has_heads() && model.qkv_width() % model.heads() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.heads = ", model.heads(), " does not divide model.qkv_width = ", model.qkv_width()));
  }
  if (model.positions() == ModelConfig::SINUSOID && model.width() % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.width = ", model.width(),
                     " is odd; positions SINUSOID need pairs of sine and cosine"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckConfig(const ExperimentConfig& config, const std::set<std::string>& idle_fields) {
  LRA_RETURN_IF_ERROR(CheckComplete(config, idle_fields));
  LRA_RETURN_IF_ERROR(CheckRanges(config));
  LRA_RETURN_IF_ERROR(CheckAgreement(config.model()));
  return config.has_search() ? CheckSearch(config.search()) : absl::OkStatus();
}

absl::Status CheckStoredConfig(ExperimentConfig config) {
  FillLegacyValues(&config);
  LRA_ASSIGN_OR_RETURN(const BlockFile file, LoadBlockFile(config.block().name()));
  return CheckConfig(config, {file.idle_field().begin(), file.idle_field().end()});
}

}  // namespace lra
