#include "lra/experiment.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/fingerprint.h"
#include "lra/protocol_rules.h"
#include "lra/python_attention.h"
#include "lra/run_file.h"
#include "lra/status_macros.h"

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
  return ConfigPath("tasks", "task", task).status();
}

// What protocol, preset and attention of a configuration say by themselves, the protocol in its
// present version: names of runs tell earlier ones by their digits.
absl::StatusOr<ResolvedConfig> ResolvePlain(const ExperimentConfig& config) {
  return ResolveExperiment({.task = config.task(),
                            .attention = config.attention().name(),
                            .protocol = std::string(ProtocolName(config)),
                            .preset = config.preset()});
}

}  // namespace

absl::StatusOr<ResolvedConfig> ResolveExperiment(const ExperimentChoice& choice) {
  RunFile run;
  if (!choice.run_file.empty()) {
    LRA_ASSIGN_OR_RETURN(run, ReadRunFile(choice.run_file));
  }
  const std::string file_origin =
      absl::StrCat("run file ", std::filesystem::path(choice.run_file).stem().string());
  const Choice task = Choose(choice.task, "--task", run.task(), file_origin, "");
  const Choice protocol =
      Choose(choice.protocol, "--protocol", run.protocol(), file_origin, kDefaultProtocol);
  const Choice preset =
      Choose(choice.preset, "--preset", run.preset(), file_origin, kDefaultPreset);
  LRA_RETURN_IF_ERROR(CheckTask(task.value));
  LRA_ASSIGN_OR_RETURN(const std::string attention,
                       ChooseAttention(choice.attention, run, file_origin));

  ConfigBuilder builder(task.value);
  LRA_RETURN_IF_ERROR(builder.AddProtocol(protocol.value));
  LRA_RETURN_IF_ERROR(builder.AddPreset(preset.value));
  LRA_RETURN_IF_ERROR(builder.AddAttention(attention));
  LRA_RETURN_IF_ERROR(builder.AddOverrides(run.overrides(), file_origin));
  for (const std::string& set : choice.sets) LRA_RETURN_IF_ERROR(builder.Set(set));
  LRA_ASSIGN_OR_RETURN(ResolvedConfig resolved, builder.Build());
  resolved.provenance["task"] = task.origin;
  resolved.provenance["protocol"] = protocol.origin;
  resolved.provenance["preset"] = preset.origin;
  return resolved;
}

std::string MethodOf(const ExperimentConfig& config) {
  const std::string& attention = config.attention().name();
  if (attention == kPythonAttention) return PythonMethod(config.attention());
  return attention == kNoAttention ? config.block().name() : attention;
}

std::string ExperimentName(const ExperimentConfig& config) {
  const absl::StatusOr<ResolvedConfig> plain = ResolvePlain(config);
  const std::string method = MethodOf(config), block = config.block().name();
  std::vector<std::string> parts = {config.task(), method};
  if (plain.ok() && block != plain->config.block().name() && block != method)
    parts.push_back(block);
  parts.push_back(config.preset());
  if (ProtocolName(config) != kDefaultProtocol) parts.emplace_back(ProtocolName(config));
  const std::string cell = CellFingerprint(config);
  if (!plain.ok() || CellFingerprint(plain->config) != cell)
    parts.push_back(ShortFingerprint(cell));
  parts.push_back(absl::StrCat("s", config.seed()));
  return absl::StrJoin(parts, "-");
}

}  // namespace lra
