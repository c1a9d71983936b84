#include "lra/config.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lra/config_check.h"
#include "lra/config_file.h"
#include "lra/data_root.h"
#include "lra/files.h"
#include "lra/protocol_rules.h"
#include "lra/python_attention.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "lra/task_files.h"
#include "lra/textproto.h"

namespace lra {
namespace {

// The origin of fields that configs/pretraining/default.textproto fills in.
constexpr char kPretrainDefault[] = "default of pretraining";

// An unknown name alone ("lr") is far from the one that is meant (schedule.learning_rate), and the
// names that the error knows are those of groups.
absl::Status WithListOfFields(const absl::Status& set, absl::string_view path) {
  if (!absl::StrContains(set.message(), "unknown field \"") || absl::StrContains(path, '.'))
    return set;
  return absl::InvalidArgumentError(
      absl::StrCat(set.message(), absl::EndsWith(set.message(), "?") ? " " : "; ",
                   "`lra config` with the same flags lists every field"));
}

}  // namespace

std::vector<std::string> ConfigNames(absl::string_view kind) {
  std::set<std::string> names;
  if (kind == "tasks") {
    const std::vector<std::string> data_only = DataOnlyTasks();
    names.insert(data_only.begin(), data_only.end());
  }
  std::error_code error;
  const std::filesystem::directory_iterator folder(JoinPath(ConfigDirectory(), kind), error);
  if (error) return {names.begin(), names.end()};
  for (const std::filesystem::directory_entry& entry : folder) {
    if (entry.path().extension().string() == kConfigExtension)
      names.insert(entry.path().stem().string());
  }
  return {names.begin(), names.end()};
}

absl::StatusOr<std::string> ConfigPath(absl::string_view kind, absl::string_view what,
                                       absl::string_view name) {
  const std::vector<std::string> known = ConfigNames(kind);
  const std::string folder = JoinPath(ConfigDirectory(), kind);
  if (known.empty()) {
    return absl::NotFoundError(absl::StrCat("no ", kind, " in \"", folder,
                                            "\"; set LRA_CONFIGS to the folder with the configs"));
  }
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    if (kind == "tasks") LRA_RETURN_IF_ERROR(CheckAdopted(name));
    return UnknownNameError(what, name, known);
  }
  const std::string path = JoinPath(folder, absl::StrCat(name, kConfigExtension));
  return kind != "tasks" || FileExists(path) ? path : DataOnlyTaskPath(name);
}

absl::StatusOr<TaskFile> LoadTaskFile(absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(TaskFile file, LoadConfig<TaskFile>("tasks", name));
  LRA_RETURN_IF_ERROR(CheckName("tasks", name, file.name()));
  return file;
}

absl::StatusOr<AttentionFile> LoadAttentionFile(absl::string_view name) {
  if (name == kPythonAttention) return NeedsPython({});
  LRA_ASSIGN_OR_RETURN(AttentionFile file, LoadConfig<AttentionFile>("attentions", name));
  LRA_RETURN_IF_ERROR(CheckName("attentions", name, file.attention().name()));
  return file;
}

absl::StatusOr<BlockFile> LoadBlockFile(absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(BlockFile file, LoadConfig<BlockFile>("blocks", name));
  LRA_RETURN_IF_ERROR(CheckName("blocks", name, file.block().name()));
  return file;
}

absl::StatusOr<std::string> ConfigDescription(absl::string_view kind, absl::string_view name) {
  const auto description = [](const auto& file) -> absl::StatusOr<std::string> {
    if (!file.ok()) return file.status();
    return file->description();
  };
  if (kind == "tasks") return description(LoadTaskFile(name));
  if (kind == "attentions") return description(LoadAttentionFile(name));
  if (kind == "blocks") return description(LoadBlockFile(name));
  return description(LoadFragment(kind, name));
}

// --- ConfigBuilder ---

absl::StatusOr<DataView> LoadView(absl::string_view task, absl::string_view protocol,
                                  absl::string_view preset, const std::vector<std::string>& sets) {
  ConfigBuilder builder(task);
  LRA_RETURN_IF_ERROR(builder.AddProtocol(protocol));
  LRA_RETURN_IF_ERROR(builder.AddPreset(preset));
  DataView view = builder.config().view();
  for (const std::string& set : sets)
    LRA_RETURN_IF_ERROR(SetField(&view, absl::StripPrefix(set, "view.")));
  FillDefaultsBeside(&view);
  LRA_RETURN_IF_ERROR(CheckRanges(view));
  return view;
}

ConfigBuilder::ConfigBuilder(absl::string_view task) : task_(task) {
  resolved_.config.set_task(task_);
  resolved_.provenance["task"] = "--task";
}

absl::Status ConfigBuilder::Merge(const ExperimentConfig& fragment, absl::string_view origin) {
  LRA_RETURN_IF_ERROR(Annotate(CheckRanges(fragment), origin));
  if (fragment.has_task() && fragment.task() != task_) {
    return absl::InvalidArgumentError(absl::StrCat(origin, ": sets task \"", fragment.task(),
                                                   "\", but the task is \"", task_, "\""));
  }
  if (fragment.block().has_name())
    LRA_RETURN_IF_ERROR(Annotate(ChooseBlock(fragment.block().name(), origin), origin));
  MergeConfig(fragment, &resolved_.config);
  for (const auto& [path, value] : LeafFields(fragment)) {
    resolved_.provenance[path] = std::string(origin);
  }
  return absl::OkStatus();
}

// Another block brings the options of its own file; those of the one before are gone.
absl::Status ConfigBuilder::ChooseBlock(absl::string_view name, absl::string_view origin) {
  if (resolved_.config.block().name() != name) {
    LRA_ASSIGN_OR_RETURN(const BlockFile file, LoadBlockFile(name));
    ExperimentConfig part;
    *part.mutable_block() = file.block();
    LRA_RETURN_IF_ERROR(CheckRanges(part));
    *resolved_.config.mutable_block() = file.block();
    idle_fields_ = {file.idle_field().begin(), file.idle_field().end()};
    for (const auto& [path, value] : LeafFields(part))
      resolved_.provenance[path] = absl::StrCat("block ", name);
  }
  resolved_.provenance["block.name"] = std::string(origin);
  return absl::OkStatus();
}

absl::Status ConfigBuilder::AddFragment(absl::string_view kind, const ConfigFragment& fragment) {
  const std::string origin = absl::StrCat(Singular(kind), " ", fragment.name());
  methods_.push_back({origin, fragment.method()});
  LRA_RETURN_IF_ERROR(Merge(fragment.base(), origin));
  const auto part = fragment.task().find(task_);
  if (part == fragment.task().end()) return absl::OkStatus();
  return Merge(part->second, absl::StrCat(origin, ", task ", task_));
}

absl::Status ConfigBuilder::AddProtocol(absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(const ConfigFragment fragment,
                       LoadFragmentForTask("protocols", name, task_));
  const std::string full_name = absl::StrCat(fragment.name(), "@", fragment.version());
  LRA_RETURN_IF_ERROR(CheckCoversTask("protocols", fragment, task_));
  LRA_RETURN_IF_ERROR(AddFragment("protocols", fragment));
  rules_ = fragment.base();
  if (const auto part = fragment.task().find(task_); part != fragment.task().end())
    MergeConfig(part->second, &rules_);
  resolved_.config.set_protocol(full_name);
  resolved_.provenance["protocol"] = "--protocol";
  return absl::OkStatus();
}

absl::Status ConfigBuilder::AddPreset(absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(const ConfigFragment fragment, LoadFragmentForTask("presets", name, task_));
  LRA_RETURN_IF_ERROR(CheckCoversTask("presets", fragment, task_));
  LRA_RETURN_IF_ERROR(AddFragment("presets", fragment));
  LRA_RETURN_IF_ERROR(AddProtocolParts(fragment));
  resolved_.config.set_preset(fragment.name());
  resolved_.provenance["preset"] = "--preset";
  return absl::OkStatus();
}

// Merges what a preset says under the protocol, then under the protocol for the task.
absl::Status ConfigBuilder::AddProtocolParts(const ConfigFragment& preset) {
  const std::string protocol(ProtocolName(resolved_.config));
  for (const std::string& key : {protocol, absl::StrCat(protocol, ":", task_)}) {
    const auto part = preset.protocol().find(key);
    if (part == preset.protocol().end()) continue;
    LRA_RETURN_IF_ERROR(
        Merge(part->second, absl::StrCat("preset ", preset.name(), " under protocol ", key)));
  }
  return absl::OkStatus();
}

absl::Status ConfigBuilder::AddAttention(absl::string_view name) {
  ExperimentConfig part;
  part.mutable_attention()->set_name(kNoAttention);
  if (name != kNoAttention) {
    LRA_ASSIGN_OR_RETURN(const AttentionFile file, LoadAttentionFile(name));
    *part.mutable_attention() = file.attention();
  }
  LRA_RETURN_IF_ERROR(Merge(part, absl::StrCat("attention ", name)));
  return AddMethodParts(name);
}

// Merges the general keys before the particular ones.
absl::Status ConfigBuilder::AddMethodParts(absl::string_view name) {
  const std::string here = absl::StrCat(task_, "/", name);
  for (const auto& [origin, parts] : methods_) {
    for (const std::string& key : {absl::StrCat("*/", name), here,
                                   absl::StrCat(ProtocolName(resolved_.config), ":", here)}) {
      const auto part = parts.find(key);
      if (part == parts.end()) continue;
      if (absl::StartsWith(origin, "protocol ")) MergeConfig(part->second, &rules_);
      LRA_RETURN_IF_ERROR(Merge(part->second, absl::StrCat(origin, ", ", key)));
    }
  }
  return absl::OkStatus();
}

absl::Status ConfigBuilder::AddOverrides(const ExperimentConfig& overrides,
                                         absl::string_view origin) {
  // What selected the merged fragments cannot be changed after the merge.
  if (overrides.has_protocol() || overrides.has_preset() || overrides.attention().has_name()) {
    return absl::InvalidArgumentError(absl::StrCat(
        origin,
        ": overrides must not set protocol, preset or attention.name; they are chosen apart"));
  }
  if (!before_overrides_) before_overrides_ = resolved_;
  return Merge(overrides, origin);
}

absl::Status ConfigBuilder::Set(absl::string_view assignment) {
  const std::string path(absl::StripAsciiWhitespace(
      assignment.substr(0, std::min(assignment.find('='), assignment.size()))));
  if (IsChosenByFlag(path)) {
    return absl::InvalidArgumentError(absl::StrCat(assignment, ": is chosen by the flag --",
                                                   path.substr(0, path.find('.')),
                                                   ", not by --set"));
  }
  if (!before_overrides_) before_overrides_ = resolved_;
  if (path == "block.name") {
    ExperimentConfig part;
    LRA_RETURN_IF_ERROR(SetField(&part, assignment));
    return Annotate(ChooseBlock(part.block().name(), "--set"), assignment);
  }
  const absl::Status set = SetField(&resolved_.config, assignment);
  LRA_RETURN_IF_ERROR(WithListOfFields(set, path));
  resolved_.provenance[path] = "--set";
  for (const auto& [leaf, value] : LeafFields(resolved_.config)) {
    if (absl::StartsWith(leaf, absl::StrCat(path, "["))) resolved_.provenance[leaf] = "--set";
  }
  return absl::OkStatus();
}

// Fills in what a run that pretrains leaves unset.
absl::Status ConfigBuilder::SetPretrainDefaults(ResolvedConfig* result) const {
  if (!result->config.has_pretrain()) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const PretrainFile file, LoadConfig<PretrainFile>("pretraining", "default"));
  ExperimentConfig filled;
  *filled.mutable_pretrain() = file.pretrain();
  for (const auto& [path, value] : LeafFields(filled))
    result->provenance.try_emplace(path, kPretrainDefault);
  MergeConfig(result->config, &filled);
  *result->config.mutable_pretrain() = filled.pretrain();
  return absl::OkStatus();
}

void ConfigBuilder::SetDefaults(ResolvedConfig* result) const {
  ModelConfig* model = result->config.mutable_model();
  if (!model->has_qkv_width() && model->has_width()) {
    model->set_qkv_width(model->width());
    result->provenance["model.qkv_width"] = "= model.width";
  }
  if (!model->has_head_width() && model->has_mlp_width()) {
    model->set_head_width(model->mlp_width());
    result->provenance["model.head_width"] = "= model.mlp_width";
  }
  if (!result->config.has_seed()) {
    result->config.set_seed(0);
    result->provenance["seed"] = "default";
  }
  FillLegacyValues(&result->config);
  // Whoever chose hidden tokens chose their share, too: tables must not tell it apart from one that
  // was written out.
  if (result->config.has_view()) {
    for (const auto& [field, other] : FillDefaultsBeside(result->config.mutable_view())) {
      result->provenance[absl::StrCat("view.", field)] =
          result->provenance[absl::StrCat("view.", other)];
    }
  }
  for (const auto& [path, value] : LeafFields(result->config))
    result->provenance.try_emplace(path, "default");
}

absl::StatusOr<ResolvedConfig> ConfigBuilder::WithDefaults(ResolvedConfig result) const {
  SetDefaults(&result);
  LRA_RETURN_IF_ERROR(SetPretrainDefaults(&result));
  return result;
}

// Takes back what overrides say in vain; the warnings. What is in vain follows from the
// configuration with its defaults.
absl::StatusOr<std::vector<std::string>> ConfigBuilder::LeaveOutIdleFields(
    ResolvedConfig* result) const {
  std::vector<std::string> warnings;
  if (!before_overrides_) return warnings;
  LRA_ASSIGN_OR_RETURN(const ResolvedConfig whole, WithDefaults(*result));
  for (IdleField& idle : FindIdleFields(whole, idle_fields_)) {
    if (idle.is_left_out) LRA_RETURN_IF_ERROR(RestoreField(*before_overrides_, idle.path, result));
    warnings.push_back(std::move(idle.warning));
  }
  return warnings;
}

absl::StatusOr<ResolvedConfig> ConfigBuilder::Build() {
  ResolvedConfig result = resolved_;
  LRA_ASSIGN_OR_RETURN(const std::vector<std::string> idle, LeaveOutIdleFields(&result));
  LRA_ASSIGN_OR_RETURN(result, WithDefaults(std::move(result)));
  LRA_RETURN_IF_ERROR(CheckConfig(result.config, idle_fields_));
  // When an attention is replaced, the options of the old one are gone, so their origins go as
  // well.
  std::set<std::string> present;
  for (const auto& [path, value] : LeafFields(result.config)) present.insert(path);
  std::erase_if(result.provenance,
                [&](const auto& origin) { return present.count(origin.first) == 0; });
  LRA_RETURN_IF_ERROR(CheckWarmup(rules_, result));
  // What a rule implies, a protocol need not say: it is no change.
  ExperimentConfig rules = rules_;
  if (rules.has_view()) FillDefaultsBeside(rules.mutable_view());
  result.changed_rules = ChangedRules(rules, result);
  result.warnings = BudgetWarnings(rules_, result);
  result.warnings.insert(result.warnings.end(), idle.begin(), idle.end());
  return result;
}

}  // namespace lra
