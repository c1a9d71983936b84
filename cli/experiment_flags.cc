#include "cli/experiment_flags.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "lra/textproto.h"

namespace lra {
namespace {

// A value and what chose it.
struct Choice {
  std::string value, origin;
};

Choice Choose(const std::string& given, absl::string_view flag, const std::string& in_file,
              const std::string& file_origin, absl::string_view fallback) {
  if (!given.empty()) return {given, std::string(flag)};
  if (!in_file.empty()) return {in_file, file_origin};
  return {std::string(fallback), "default"};
}

absl::StatusOr<std::string> ChooseAttention(const std::string& given, const RunFile& run,
                                            const std::string& file_origin) {
  if (!given.empty()) return given;
  if (run.attention_size() == 1) return run.attention(0);
  if (run.attention_size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("--attention is needed: ", file_origin,
                                                   " is meant for ",
                                                   absl::StrJoin(run.attention(), ", ")));
  }
  return absl::InvalidArgumentError(absl::StrCat("--attention is needed; known: ",
                                                 absl::StrJoin(ConfigNames("attentions"), ", ")));
}

absl::Status CheckTask(const std::string& task) {
  const std::vector<std::string> known = ConfigNames("tasks");
  if (task.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--task is needed; known: ", absl::StrJoin(known, ", ")));
  }
  if (std::find(known.begin(), known.end(), task) != known.end()) return absl::OkStatus();
  return UnknownNameError("task", task, known);
}

}  // namespace

void ExperimentFlags::Add(CLI::App* command) {
  command->add_option("--task", task, "Task: lra list tasks");
  command->add_option("--attention", attention, "Attention: lra list attentions");
  command->add_option("--protocol", protocol,
                      absl::StrCat("Rules, e.g. fair or fair@1 (default: ", kDefaultProtocol, ")"));
  command->add_option("--preset", preset, absl::StrCat("Sizes (default: ", kDefaultPreset, ")"));
  command->add_option("--config", config_file,
                      "Run file with task, protocol, preset and overrides; flags win over it");
  command
      ->add_option("--set", sets,
                   "FIELD=VALUE over everything else, e.g. train.steps=100; may be repeated")
      // One value a flag: what follows it may be a positional argument.
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

absl::StatusOr<ResolvedConfig> ExperimentFlags::Resolve() const {
  RunFile run;
  if (!config_file.empty()) LRA_RETURN_IF_ERROR(ReadTextProto(config_file, &run));
  const std::string file_origin =
      absl::StrCat("run file ", std::filesystem::path(config_file).stem().string());
  const Choice the_task = Choose(task, "--task", run.task(), file_origin, "");
  const Choice the_protocol =
      Choose(protocol, "--protocol", run.protocol(), file_origin, kDefaultProtocol);
  const Choice the_preset = Choose(preset, "--preset", run.preset(), file_origin, kDefaultPreset);
  LRA_RETURN_IF_ERROR(CheckTask(the_task.value));
  LRA_ASSIGN_OR_RETURN(const std::string the_attention,
                       ChooseAttention(attention, run, file_origin));

  ConfigBuilder builder(the_task.value);
  LRA_RETURN_IF_ERROR(builder.AddProtocol(the_protocol.value));
  LRA_RETURN_IF_ERROR(builder.AddPreset(the_preset.value));
  LRA_RETURN_IF_ERROR(builder.AddAttention(the_attention));
  LRA_RETURN_IF_ERROR(builder.AddOverrides(run.overrides(), file_origin));
  for (const std::string& set : sets) LRA_RETURN_IF_ERROR(builder.Set(set));
  LRA_ASSIGN_OR_RETURN(ResolvedConfig resolved, builder.Build());
  resolved.provenance["task"] = the_task.origin;
  resolved.provenance["protocol"] = the_protocol.origin;
  resolved.provenance["preset"] = the_preset.origin;
  return resolved;
}

void AddViewFlags(CLI::App* command, std::string* protocol, std::string* preset,
                  std::vector<std::string>* sets) {
  command->add_option("--protocol", *protocol, "Rules that say how the data is seen")
      ->capture_default_str();
  command->add_option("--preset", *preset, "Sizes (the length that texts are cut to)")
      ->capture_default_str();
  command
      ->add_option("--set", *sets,
                   "A field of the view, e.g. max_length_tokens=1000; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace lra
