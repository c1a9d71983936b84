// lra config: every resolved value of a run and where it came from. Takes the flags of `lra train`.
#include "lra/config.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command.h"
#include "cli/train_flags.h"
#include "datasets/manifest.h"
#include "lra/fingerprint.h"
#include "lra/status_macros.h"
#include "nlohmann/json.hpp"
#include "tasks/task_facts.h"
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
  const auto leaves = LeafFields(resolved.config);
  size_t path_width = 0, value_width = 0;
  for (const auto& [path, value] : leaves) {
    path_width = std::max(path_width, path.size());
    value_width = std::max(value_width, value.size());
  }
  for (const auto& [path, value] : leaves) {
    const std::string rule = ProtocolValueOf(resolved, path);
    std::cout << absl::StrFormat("%-*s  %-*s  %s%s\n", static_cast<int>(path_width), path,
                                 static_cast<int>(value_width), value, OriginOf(resolved, path),
                                 rule.empty() ? "" : absl::StrCat("  (protocol: ", rule, ")"));
  }
  std::cout << "\nconfig fingerprint  " << Fingerprint(resolved.config) << "\n"
            << "cell fingerprint    " << CellFingerprint(resolved.config)
            << "  (without the seed)\n"
            << "view fingerprint    " << Fingerprint(resolved.config.view()) << "\n";
  for (const std::string& warning : resolved.warnings) std::cerr << "warning: " << warning << "\n";
}

// The data's own manifest where the data is there.
absl::StatusOr<Manifest> ManifestOf(const TrainRequest& request) {
  absl::StatusOr<Manifest> stored = ReadManifest(request.runtime.data_dir());
  const std::string& task = request.resolved.config.task();
  if (stored.ok() && stored->spec().name() == task) return stored;
  return ManifestWithoutData(task);
}

// With several seeds, this shows the configuration of the first; the others differ in the seed
// only.
absl::Status Show(const TrainFlags& flags, const CommandContext& context) {
  LRA_ASSIGN_OR_RETURN(const std::vector<TrainRequest> requests,
                       MakeTrainRequests(flags.Choice(context)));
  LRA_ASSIGN_OR_RETURN(const Manifest manifest, ManifestOf(requests.front()));
  LRA_RETURN_IF_ERROR(CheckTrainable(requests.front(), manifest));
  const ResolvedConfig& resolved = requests.front().resolved;
  context.json ? PrintFields(resolved) : PrintText(resolved);
  return absl::OkStatus();
}

}  // namespace

void AddConfigCommand(CLI::App* app, CommandContext* context) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = AddCommand(
      app, "config", "Every resolved value of a run (the flags of train), and where it came from");
  flags->Add(command, context);
  SetBody(command, context,
          "  lra config --task listops --attention cosformer\n"
          "  lra config --config configs/runs/quickstart.textproto --attention linear --set "
          "train.steps=50",
          [flags, context] { return Show(*flags, *context); });
}

}  // namespace lra
