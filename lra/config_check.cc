#include "lra/config_check.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/pretrain_budget.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

// Why a field says nothing beside the others; empty where it says something.
std::string WhyIdle(const ExperimentConfig& config, const std::set<std::string>& idle_fields,
                    absl::string_view path) {
  if (idle_fields.count(std::string(path)) > 0)
    return absl::StrCat("block.name is ", config.block().name());
  const ScheduleConfig& schedule = config.schedule();
  if (absl::StartsWith(path, "schedule.plateau_") && schedule.kind() != ScheduleConfig::PLATEAU)
    return absl::StrCat("schedule.kind is ", ScheduleConfig::Kind_Name(schedule.kind()));
  if (absl::StartsWith(path, "schedule.drop_") && schedule.kind() != ScheduleConfig::STEP)
    return absl::StrCat("schedule.kind is ", ScheduleConfig::Kind_Name(schedule.kind()));
  const bool has_token_head = GuessesTokens(config.view());
  if (!has_token_head && (path == "model.token_head" || path == "model.mixture_components"))
    return "view.target is LABEL";
  if (path == "model.mixture_components" &&
      config.model().token_head() != ModelConfig::LOGISTIC_MIXTURE) {
    return "model.token_head is CATEGORICAL";
  }
  if (path == "model.embedding_start" && config.view().pixels() == DataView::REAL)
    return "view.pixels is REAL: numbers have no vectors of their own";
  if (path == "model.final_norm" && config.model().norm_placement() != ModelConfig::AFTER)
    return "model.norm_placement is BEFORE";
  const bool has_pooled_norm =
      !has_token_head && config.model().pooled_norm() == ModelConfig::OVER_EXAMPLES;
  if (path == "evaluation.batch_statistics" && !has_pooled_norm &&
      config.model().norm() != ModelConfig::BATCH) {
    return "no norm is over examples (model.norm, model.pooled_norm)";
  }
  if (path == "schedule.warmup_fraction" && schedule.has_warmup_steps())
    return absl::StrCat("schedule.warmup_steps is ", schedule.warmup_steps());
  const EvaluationConfig::Selection selection = config.evaluation().selection();
  if (path == "evaluation.step" && selection != EvaluationConfig::FIXED_STEP)
    return absl::StrCat("evaluation.selection is ", EvaluationConfig::Selection_Name(selection));
  if (path == "model.cls_mask" && config.model().pooling() != ModelConfig::CLS)
    return absl::StrCat("model.pooling is ", ModelConfig::Pooling_Name(config.model().pooling()));
  if (path == "optimizer.beta1" && schedule.kind() == ScheduleConfig::ONE_CYCLE)
    return "schedule.kind is ONE_CYCLE, which moves beta1 itself";
  if (path == "pretrain.masked_fraction" && config.pretrain().objective() == PretrainConfig::CAUSAL)
    return "pretrain.objective is CAUSAL";
  return "";
}

// What a model has behind its last layer where it guesses labels alone.
bool IsOfLabels(absl::string_view path) {
  constexpr absl::string_view kFields[] = {
      "model.pooling",         "model.cls_mask",  "model.head",       "model.head_width",
      "model.head_activation", "model.pair_head", "model.pooled_norm"};
  return std::find(std::begin(kFields), std::end(kFields), path) != std::end(kFields);
}

// Does the same for fields that are kept and stay set (IdleField.is_left_out).
std::string WhyUnread(const ExperimentConfig& config, absl::string_view path) {
  const OptimizerConfig& optimizer = config.optimizer();
  const TrainConfig& train = config.train();
  if (GuessesTokens(config.view()) && IsOfLabels(path))
    return absl::StrCat("view.target is ", DataView::Target_Name(config.view().target()));
  if (path == "schedule.learning_rate" && config.has_search())
    return "a search takes the rates of search.learning_rate";
  if (path == "optimizer.clip_scope" && optimizer.clip_norm() == 0)
    return "optimizer.clip_norm is 0";
  if (absl::StartsWith(path, "optimizer.state_space_rate_covers_") &&
      optimizer.state_space_learning_rate() == 0)
    return "optimizer.state_space_learning_rate is 0";
  if (path == "train.last_batch" && train.drop_last()) return "train.drop_last is true";
  if (path == "train.bucket_window_batches" && train.shuffle() == TrainConfig::WHOLE_BATCHES)
    return "train.shuffle is WHOLE_BATCHES";
  return "";
}

// Fields that may stay unset: the warm-up has two spellings, most of a view belongs to one content
// (SplitView knows which: tests/views_test.cc holds the protocols against it), some belong to one
// value of another field or mean nothing to the block, and a run need neither be pretrained nor
// searched for.
bool MayBeUnset(const ExperimentConfig& config, const std::set<std::string>& idle_fields,
                absl::string_view path) {
  if (!WhyIdle(config, idle_fields, path).empty()) return true;
  if (path == "evaluation.scored_examples") return true;
  if (path == "pretrain.steps") return true;  // CheckPretrainBudget refuses it where it is set
  if (absl::StartsWith(path, "pretrain.")) return !config.has_pretrain();
  if (absl::StartsWith(path, "search.")) return !config.has_search();
  return path == "schedule.warmup_steps" || path == "schedule.warmup_fraction" ||
         (absl::StartsWith(path, "view.") && path != "view.max_length_tokens") ||
         path == "attention.options" || path == "block.options" || path == "start_weights_sha256" ||
         path == "encoder_weights_sha256" || path == "encoder_recipe";
}

absl::Status ClearField(absl::string_view path, google::protobuf::Message* message) {
  const size_t dot = std::min(path.find('.'), path.size());
  const auto* field = message->GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  if (field == nullptr || (dot < path.size() && (!IsMessageField(field) || IsAnyField(field))))
    return absl::InvalidArgumentError(absl::StrCat("cannot clear the field ", path));
  const google::protobuf::Reflection* reflection = message->GetReflection();
  if (dot < path.size())
    return ClearField(path.substr(dot + 1), reflection->MutableMessage(message, field));
  reflection->ClearField(message, field);
  return absl::OkStatus();
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

// The goal of FIXED_STEP must be a step of the run.
absl::Status CheckSelection(const ExperimentConfig& config) {
  const EvaluationConfig& evaluation = config.evaluation();
  if (evaluation.selection() != EvaluationConfig::FIXED_STEP ||
      evaluation.step() <= config.train().steps()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("evaluation.step: is ", evaluation.step(),
                                                 ", must be at most train.steps, ",
                                                 config.train().steps()));
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

absl::Status CheckAgreement(const ModelConfig& model, const std::set<std::string>& idle_fields) {
  if (idle_fields.count("model.heads") == 0 && model.has_heads() &&
      model.qkv_width() % model.heads() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.heads = ", model.heads(), " does not divide model.qkv_width = ", model.qkv_width()));
  }
  if (model.positions() == ModelConfig::CONCATENATED && model.width() % 4 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.width: is ", model.width(),
                     ", must be a multiple of 4: half of the channels of positions CONCATENATED "
                     "are pairs of sine and cosine"));
  }
  if (model.positions() == ModelConfig::CONCATENATED && model.stem_tokens() > 0) {
    return absl::InvalidArgumentError(
        "model.stem_tokens: must be 0 with positions CONCATENATED, where tokens have half of the "
        "channels");
  }
  if (model.positions() == ModelConfig::SINUSOID && model.width() % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.width = ", model.width(),
                     " is odd; positions SINUSOID need pairs of sine and cosine"));
  }
  return absl::OkStatus();
}

absl::Status CheckEmbedding(const ExperimentConfig& config) {
  if (config.model().embedding_start() != ModelConfig::SMOOTH || config.view().has_pixels())
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "model.embedding_start=SMOOTH is for values of pixels, near ones of which look alike; the "
      "ids of ",
      config.task(), " are names: use INDEPENDENT"));
}

}  // namespace

absl::Status CheckConfig(const ExperimentConfig& config, const std::set<std::string>& idle_fields) {
  if (config.has_pretrain()) LRA_RETURN_IF_ERROR(CheckPretrainBudget(config));
  LRA_RETURN_IF_ERROR(CheckComplete(config, idle_fields));
  LRA_RETURN_IF_ERROR(CheckRanges(config));
  LRA_RETURN_IF_ERROR(CheckSelection(config));
  LRA_RETURN_IF_ERROR(CheckAgreement(config.model(), idle_fields));
  LRA_RETURN_IF_ERROR(CheckEmbedding(config));
  return config.has_search() ? CheckSearch(config.search()) : absl::OkStatus();
}

absl::Status CheckStoredConfig(ExperimentConfig config) {
  FillLegacyValues(&config);
  // Pretraining had other fields once; it is over where a configuration is stored, and the model
  // that was made does not depend on it.
  config.clear_pretrain();
  LRA_ASSIGN_OR_RETURN(const BlockFile file, LoadBlockFile(config.block().name()));
  return CheckConfig(config, {file.idle_field().begin(), file.idle_field().end()});
}

bool GuessesTokens(const DataView& view) {
  return view.target() == DataView::NEXT || view.target() == DataView::MASKED;
}

bool IsChosenByFlag(absl::string_view path) {
  // These select the fragments that are merged; another name would contradict them afterwards.
  return path == "task" || path == "protocol" || path == "preset" || path == "attention.name";
}

bool IsGivenByUser(const ResolvedConfig& resolved, const std::string& path) {
  const auto origin = resolved.provenance.find(path);
  return origin != resolved.provenance.end() &&
         (origin->second == "--set" || absl::StartsWith(origin->second, "run file"));
}

std::vector<IdleField> FindIdleFields(const ResolvedConfig& resolved,
                                      const std::set<std::string>& idle_fields) {
  std::vector<IdleField> found;
  // A width that the block does not read may still be the head's.
  const auto head_width = resolved.provenance.find("model.head_width");
  const bool head_follows_mlp =
      head_width != resolved.provenance.end() && head_width->second == "= model.mlp_width";
  for (const auto& [path, value] : LeafFields(resolved.config)) {
    if (path == "model.mlp_width" && head_follows_mlp) continue;
    if (!IsGivenByUser(resolved, path)) continue;
    const std::string idle = WhyIdle(resolved.config, idle_fields, path);
    const std::string why = idle.empty() ? WhyUnread(resolved.config, path) : idle;
    if (why.empty()) continue;
    const bool is_left_out = !idle.empty();
    found.push_back({path,
                     absl::StrCat(path, "=", value, " changes nothing, because ", why,
                                  is_left_out ? "; it is left out" : ""),
                     is_left_out});
  }
  return found;
}

absl::Status RestoreField(const ResolvedConfig& from, const std::string& path, ResolvedConfig* to) {
  to->provenance.erase(path);
  if (const auto origin = from.provenance.find(path); origin != from.provenance.end())
    to->provenance[path] = origin->second;
  for (const auto& [leaf, value] : LeafFields(from.config))
    if (leaf == path) return SetField(&to->config, absl::StrCat(path, "=", value));
  return ClearField(path, &to->config);
}

}  // namespace lra
