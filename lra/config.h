// Building an ExperimentConfig: fragments merged in order, then --set a.b=c, each field's origin
// remembered.
//
//   ConfigBuilder builder(configs);
//   builder.AddProtocol("fair"), builder.AddPreset("small"), builder.AddAttention("linear") ...
//   builder.Set("train.steps=100");
//   LRA_ASSIGN_OR_RETURN(ResolvedConfig resolved, builder.Build());
#ifndef LRA_CONFIG_H_
#define LRA_CONFIG_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "lra/config.pb.h"

namespace lra {

// Folder of configs/: $LRA_CONFIGS, else beside the installed program, else the source tree.
std::string ConfigDirectory();

// Names of the .textproto files of configs/<kind>/ ("tasks", "attentions", "protocols", "presets",
// "published").
std::vector<std::string> ConfigNames(absl::string_view kind);

absl::StatusOr<TaskFile> LoadTaskFile(absl::string_view name);
absl::StatusOr<AttentionFile> LoadAttentionFile(absl::string_view name);
// kind: "protocols" or "presets". With what it extends: `base` and `task` of that file are merged
// into its own first. InvalidArgument for a circle of such files.
absl::StatusOr<ConfigFragment> LoadFragment(absl::string_view kind, absl::string_view name);

// What a protocol and a preset say about a task's view, and `sets` ("split=SLICES") over it.
absl::StatusOr<DataView> LoadView(absl::string_view task, absl::string_view protocol,
                                  absl::string_view preset, const std::vector<std::string>& sets);

// "a.b=c" on any message, by reflection; paths go through Any by the Any's own type. Errors
// (InvalidArgument) for an unknown field (nearest valid name suggested), a wrong type, and a value
// out of the field's (lra.range).
absl::Status SetField(google::protobuf::Message* message, absl::string_view assignment);
// The same range rules on every set field; the error names the dotted path.
absl::Status CheckRanges(const google::protobuf::Message& message);
// Merges like MergeFrom, but an Any of the same type is merged field by field rather than replaced.
void MergeConfig(const google::protobuf::Message& from, google::protobuf::Message* to);
// Dotted path and value (text) of every set scalar field, in field order; Any expanded; volatile
// fields skipped.
std::vector<std::pair<std::string, std::string>> LeafFields(
    const google::protobuf::Message& message);
// Dotted paths of scalar fields with presence that are unset, in set and unset sub-messages alike
// (Any: of the packed type).
std::vector<std::string> UnsetFields(const google::protobuf::Message& message);

struct ResolvedConfig {
  ExperimentConfig config;
  // Dotted path of a leaf to what set it: "protocol fair", "preset small", "--set", ...
  std::map<std::string, std::string> provenance;
};

class ConfigBuilder {
 public:
  // The task's name must be known first: protocols and presets hold per-task parts.
  explicit ConfigBuilder(absl::string_view task);

  absl::Status AddProtocol(absl::string_view name);
  absl::Status AddPreset(absl::string_view name);
  // Then what protocol and preset, added before, say about this method on this task.
  absl::Status AddAttention(absl::string_view name);
  absl::Status AddOverrides(const ExperimentConfig& overrides, absl::string_view origin);
  absl::Status Set(absl::string_view assignment);
  // As merged so far.
  const ExperimentConfig& config() const { return resolved_.config; }
  // Checks ranges, that every needed field is set and that fields agree (heads divide qkv_width, an
  // unset qkv_width is width, an unset head_width is mlp_width, ...).
  absl::StatusOr<ResolvedConfig> Build();

 private:
  absl::Status Merge(const ExperimentConfig& fragment, absl::string_view origin);
  absl::Status AddFragment(absl::string_view kind, const ConfigFragment& fragment);
  absl::Status AddMethodParts(absl::string_view name);
  std::string task_;
  // What the fragments so far say about single methods, by origin.
  std::vector<std::pair<std::string, google::protobuf::Map<std::string, ExperimentConfig>>>
      methods_;
  ResolvedConfig resolved_;
};

}  // namespace lra

#endif  // LRA_CONFIG_H_
