// Builds an ExperimentConfig: fragments are merged in order, then `--set a.b=c` is applied, and the
// origin of each field is remembered.
//
//   ConfigBuilder builder("listops");
//   LRA_RETURN_IF_ERROR(builder.AddProtocol("fair"));
//   LRA_RETURN_IF_ERROR(builder.AddPreset("small"));
//   LRA_RETURN_IF_ERROR(builder.AddAttention("linear"));
//   LRA_RETURN_IF_ERROR(builder.Set("train.steps=100"));
//   LRA_ASSIGN_OR_RETURN(ResolvedConfig resolved, builder.Build());
#ifndef LRA_CONFIG_H_
#define LRA_CONFIG_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/any.pb.h"
#include "google/protobuf/message.h"
#include "lra/config.pb.h"

namespace lra {

// The folder configs/: $LRA_CONFIGS if set, else the one installed with the program or the Python
// module (lra/config_directory.h), else the source tree's.
std::string ConfigDirectory();

// Names of the .textproto files of configs/<kind>/ ("tasks", "attentions", "blocks", "protocols",
// "presets", "published"); of "tasks", data-only ones (lra/data_root.h), too.
std::vector<std::string> ConfigNames(absl::string_view kind);

// The earlier versions of one of them that can be asked for, sorted: {"strong@1"}.
std::vector<std::string> EarlierVersions(absl::string_view kind, absl::string_view name);

// The path of configs/<kind>/<name>.textproto; of a data-only task its own file's, if configs/ has
// none. InvalidArgument calls an unknown one "unknown <what>" with the nearest and all known names;
// NotFound where there are none at all.
absl::StatusOr<std::string> ConfigPath(absl::string_view kind, absl::string_view what,
                                       absl::string_view name);

absl::StatusOr<TaskFile> LoadTaskFile(absl::string_view name);
absl::StatusOr<AttentionFile> LoadAttentionFile(absl::string_view name);
absl::StatusOr<BlockFile> LoadBlockFile(absl::string_view name);
// Loads a file of `kind` "protocols" or "presets" together with the files that it extends: their
// `base` and `task` parts are merged into its own first. "strong@1" asks for a version, which may
// be an earlier one. InvalidArgument if the files extend each other in a circle, or the version is
// not there.
absl::StatusOr<ConfigFragment> LoadFragment(absl::string_view kind, absl::string_view name);

// What the file of configs/<kind>/ says that it is, in one line; kind: "tasks", "attentions",
// "protocols" or "presets".
absl::StatusOr<std::string> ConfigDescription(absl::string_view kind, absl::string_view name);

// What a protocol and a preset say about a task's view, and `sets` over it ("split=SLICES", or
// "view.split=SLICES" as `lra train` takes it); with the defaults that this implies
// (FillDefaultsBeside).
absl::StatusOr<DataView> LoadView(absl::string_view task, absl::string_view protocol,
                                  absl::string_view preset, const std::vector<std::string>& sets);

// Applies "a.b=c" to any message, by reflection; a path continues inside an Any with the packed
// message's fields. InvalidArgument for an unknown field (suggesting the nearest valid name), a
// wrong type, and a value outside the field's (lra.range).
absl::Status SetField(google::protobuf::Message* message, absl::string_view assignment);
// Sets options of a plug-in of `kind` ("attention", "block"): "field=value", or
// "attention.options.field=value" as `lra train` takes it. InvalidArgument where there are none.
absl::StatusOr<google::protobuf::Any> SetOptions(absl::string_view kind, absl::string_view name,
                                                 const google::protobuf::Any& options,
                                                 const std::vector<std::string>& sets);
// Applies the same range rules to every set field; the error names the dotted path, with `path` and
// a dot before it where the message is itself a field.
absl::Status CheckRanges(const google::protobuf::Message& message, absl::string_view path = "");
// Merges like MergeFrom, but an Any of the same type is merged field by field rather than replaced.
void MergeConfig(const google::protobuf::Message& from, google::protobuf::Message* to);
// Dotted path and text of the value of every set scalar field, in field order. Any is expanded;
// volatile fields are skipped.
std::vector<std::pair<std::string, std::string>> LeafFields(
    const google::protobuf::Message& message);
// The same without the fields that hold their (lra.legacy_value): what fingerprints hash and
// comparisons compare. A field that was added after records were written makes no difference to
// them as long as it says what they did.
std::vector<std::pair<std::string, std::string>> ComparedFields(
    const google::protobuf::Message& message);
// Sets every unset field that has a (lra.legacy_value) to it: what a message written before the
// field existed means. Goes into set sub-messages and Any, and into unset sub-messages all of whose
// scalars have such a value. True if anything was set.
bool FillLegacyValues(google::protobuf::Message* message);
// Sets the unset fields of the message itself that a value of another field calls for
// ((lra.default_beside)). Returns the name of each, and of that other field.
std::vector<std::pair<std::string, std::string>> FillDefaultsBeside(
    google::protobuf::Message* message);
// Dotted paths of the scalar fields with presence that are unset, in set and unset sub-messages
// alike; inside an Any, those of the packed type.
std::vector<std::string> UnsetFields(const google::protobuf::Message& message);

// attention.name of blocks that use no attention.
inline constexpr char kNoAttention[] = "none";

struct ResolvedConfig {
  ExperimentConfig config;
  // Dotted path of a leaf to what set it: "protocol fair", "preset small", "--set", ...
  std::map<std::string, std::string> provenance;
  // Where the configuration departs from its protocol, in field order, and what follows from it
  // that a user should know (lra/protocol_rules.h).
  std::vector<ChangedRule> changed_rules;
  std::vector<std::string> warnings;
};

class ConfigBuilder {
 public:
  // The task comes first, because protocols and presets hold parts for single tasks.
  explicit ConfigBuilder(absl::string_view task);

  absl::Status AddProtocol(absl::string_view name);
  absl::Status AddPreset(absl::string_view name);
  // Merges the attention's own file (kNoAttention has none), then what the protocol and preset
  // added before say about this method on this task.
  absl::Status AddAttention(absl::string_view name);
  absl::Status AddOverrides(const ExperimentConfig& overrides, absl::string_view origin);
  absl::Status Set(absl::string_view assignment);
  // The configuration as merged so far.
  const ExperimentConfig& config() const { return resolved_.config; }
  // Fills fields that follow from others (an unset qkv_width is width, an unset head_width is
  // mlp_width, an unset field with a legacy value has it, one of the view has the default that the
  // others imply, ...) and what a run that pretrains leaves unset
  // (configs/pretraining/default.textproto), then checks that values are in
  // range, that every needed field is set and that fields agree (heads divide qkv_width, the
  // warm-up ends within the run unless it was asked for, ...). A field that overrides set and that
  // nothing reads beside the others (schedule.plateau_factor without PLATEAU) is warned of and left
  // out, so it separates no runs.
  absl::StatusOr<ResolvedConfig> Build();

 private:
  absl::Status Merge(const ExperimentConfig& fragment, absl::string_view origin);
  absl::Status ChooseBlock(absl::string_view name, absl::string_view origin);
  void SetDefaults(ResolvedConfig* result) const;
  absl::Status SetPretrainDefaults(ResolvedConfig* result) const;
  absl::StatusOr<ResolvedConfig> WithDefaults(ResolvedConfig result) const;
  absl::StatusOr<std::vector<std::string>> LeaveOutIdleFields(ResolvedConfig* result) const;
  absl::Status AddFragment(absl::string_view kind, const ConfigFragment& fragment);
  absl::Status AddProtocolParts(const ConfigFragment& preset);
  absl::Status AddMethodParts(absl::string_view name);
  std::string task_;
  // What the fragments merged so far say about single methods, with the origin of each.
  std::vector<std::pair<std::string, google::protobuf::Map<std::string, ExperimentConfig>>>
      methods_;
  std::set<std::string> idle_fields_;  // of the chosen block
  ExperimentConfig rules_;             // what the protocol alone says
  ResolvedConfig resolved_;
  std::optional<ResolvedConfig> before_overrides_;  // set by the first of them
};

}  // namespace lra

#endif  // LRA_CONFIG_H_
