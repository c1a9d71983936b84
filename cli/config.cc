// lra config: every resolved value of a run and where it came from. Takes the flags of `lra train`.
#include "lra/config.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/train_flags.h"
#include "datasets/manifest.h"
#include "lra/fingerprint.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/text_columns.h"
#include "nlohmann/json.hpp"
#include "tasks/task_facts.h"
#include "train/parameter_groups.h"
#include "train/trainable.h"

namespace lra {
namespace {

std::string OriginOf(const ResolvedConfig& resolved, const std::string& path) {
  const auto origin = resolved.provenance.find(path);
  return origin == resolved.provenance.end() ? "" : origin->second;
}

// The protocol's value of a field that the run changes, "unset" where it has none; empty for every
// other field.
std::string ProtocolValueOf(const ResolvedConfig& resolved, const std::string& path) {
  for (const ChangedRule& rule : resolved.changed_rules) {
    if (rule.path() == path) return rule.protocol_value().empty() ? "unset" : rule.protocol_value();
  }
  return "";
}

void PrintFields(const ResolvedConfig& resolved) {
  nlohmann::ordered_json fields;
  for (const auto& [path, value] : LeafFields(resolved.config)) {
    fields[path] = {{"value", value}, {"from", OriginOf(resolved, path)}};
    const std::string rule = ProtocolValueOf(resolved, path);
    if (!rule.empty()) fields[path]["protocol_value"] = rule;
  }
  const nlohmann::ordered_json result = {{"fields", fields},
                                         {"warnings", resolved.warnings},
                                         {"config_fingerprint", Fingerprint(resolved.config)},
                                         {"cell_fingerprint", CellFingerprint(resolved.config)},
                                         {"view_fingerprint", Fingerprint(resolved.config.view())}};
  PrintJson(result);
}

void PrintText(const ResolvedConfig& resolved) {
  std::vector<std::vector<std::string>> lines;
  for (const auto& [path, value] : LeafFields(resolved.config)) {
    const std::string rule = ProtocolValueOf(resolved, path);
    lines.push_back({path, value,
                     absl::StrCat(OriginOf(resolved, path),
                                  rule.empty() ? "" : absl::StrCat("  (protocol: ", rule, ")"))});
  }
  std::cout << AlignedText(lines) << "\nconfig fingerprint  " << Fingerprint(resolved.config)
            << "\n"
            << "cell fingerprint    " << CellFingerprint(resolved.config)
            << "  (without the seed)\n"
            << "view fingerprint    " << Fingerprint(resolved.config.view()) << "\n";
  for (const std::string& warning : resolved.warnings) std::cerr << "warning: " << warning << "\n";
}

// How the optimiser treats each parameter of the model, with rates at its first two steps and the
// largest.
absl::Status ShowGroups(const ExperimentConfig& config, bool json) {
  LRA_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, MakeTask(config.task()));
  LRA_ASSIGN_OR_RETURN(const std::vector<ParameterGroup> groups,
                       ListParameterGroups(config, task->Spec()));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ParameterGroup& group : groups) {
    rows.push_back({{"parameters", group.name},
                    {"scalars", group.scalars},
                    {"rate_at_step_0", group.first_rate},
                    {"rate_at_step_1", group.second_rate},
                    {"largest_rate", group.largest_rate},
                    {"weight_decay", group.weight_decay}});
  }
  if (json) {
    PrintJson({{"groups", rows}});
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> lines = {{"parameters", PadLeft("scalars", 12),
                                                  "rate step 0", "rate step 1", "largest rate",
                                                  "weight decay"}};
  for (const ParameterGroup& group : groups) {
    lines.push_back({group.name, PadLeft(FormatCount(group.scalars), 12),
                     absl::StrFormat("%11.4g", group.first_rate),
                     absl::StrFormat("%11.4g", group.second_rate),
                     absl::StrFormat("%12.4g", group.largest_rate),
                     absl::StrFormat("%12.4g", group.weight_decay)});
  }
  std::cout << AlignedText(lines);
  return absl::OkStatus();
}

// The data's own manifest where the data is there.
absl::StatusOr<Manifest> ManifestOf(const TrainRequest& request) {
  absl::StatusOr<Manifest> stored = ReadManifest(request.runtime.data_dir());
  const std::string& task = request.resolved.config.task();
  if (stored.ok() && stored->spec().name() == task) return stored;
  return ManifestWithoutData(task);
}

// With several seeds, this shows the configuration of the first; the others differ in the seed and
// in the encoder where each seed has its own.
absl::Status Show(const TrainFlags& flags, bool shows_groups, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const std::vector<TrainRequest> requests,
                       MakeTrainRequests(flags.Choice(context)));
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ManifestOf(requests.front()));
  LRA_RETURN_IF_ERROR(CheckTrainable(requests.front(), manifest));
  const ResolvedConfig& resolved = requests.front().resolved;
  if (shows_groups) return ShowGroups(resolved.config, context.json);
  context.json ? PrintFields(resolved) : PrintText(resolved);
  return absl::OkStatus();
}

}  // namespace

void AddConfigCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = AddCommand(
      app, "config", "Every resolved value of a run (the flags of train), and where it came from");
  flags->Add(command, context);
  auto shows_groups = std::make_shared<bool>(false);
  AddSwitch(command, "--groups", shows_groups.get(),
            "Instead: learning rate and weight decay of each parameter of the model");
  SetBody(command, context,
          "  lra config --task listops --attention cosformer\n"
          "  lra config --config configs/runs/quickstart.textproto --attention linear --set "
          "train.steps=50\n"
          "  lra config --task listops --attention s4d --protocol s4 --preset s4 --groups",
          [flags, shows_groups, context] { return Show(*flags, *shows_groups, *context); });
}

}  // namespace lra
