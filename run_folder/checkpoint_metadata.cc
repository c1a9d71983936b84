#include "run_folder/checkpoint_metadata.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "eval/metric.h"
#include "lra/config.h"
#include "lra/json_text.h"
#include "lra/reflection.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

constexpr char kFormat[] = "format";
constexpr char kFormatName[] = "lra";
constexpr char kVersionKey[] = "lra.format_version";
constexpr char kStepKey[] = "lra.step";
constexpr char kProtocolKey[] = "lra.protocol";
constexpr char kConfigKey[] = "lra.config";
constexpr char kSpecKey[] = "lra.spec";
constexpr char kDataKey[] = "lra.data";
constexpr char kStateKey[] = "lra.state";

using Json = nlohmann::ordered_json;

// JSON on a single line.
std::string CompactJson(const google::protobuf::Message& message) {
  return JsonText(Json::parse(ToJson(message)), -1);
}

// CheckpointState.best_validation, alone and with the metric's name behind it: the file is read
// without this program.
constexpr char kBest[] = "best_validation", kBestOf[] = "best_validation_";

std::string ProgressJson(const CheckpointState& state) {
  CheckpointState progress;
  progress.set_step(state.step());
  progress.set_best_step(state.best_step());
  progress.set_best_validation(state.best_validation());
  Json json = Json::parse(ToJson(progress));
  if (json.contains(kBest)) {
    json[absl::StrCat(kBestOf, MetricName(state.spec()))] = json[kBest];
    json.erase(kBest);
  }
  return JsonText(json, -1);
}

// What is no JSON object stays as it is, for the parser's own error.
std::string WithoutMetricName(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return text;
  Json plain = Json::object();
  for (const auto& [key, value] : json.items())
    plain[absl::StartsWith(key, kBestOf) ? kBest : key] = value;
  return JsonText(plain, -1);
}

using Metadata = std::map<std::string, std::string>;

absl::StatusOr<std::string> Find(absl::string_view path, const Metadata& metadata,
                                 const std::string& key) {
  const auto it = metadata.find(key);
  if (it != metadata.end()) return it->second;
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": its metadata has no \"", key,
                   "\"; only weights that `lra train` wrote describe themselves"));
}

absl::Status ParseJson(absl::string_view path, const Metadata& metadata, const std::string& key,
                       google::protobuf::Message* message) {
  LRA_ASSIGN_OR_RETURN(std::string json, Find(path, metadata, key));
  if (key == kStateKey) json = WithoutMetricName(json);
  const auto status = google::protobuf::util::JsonStringToMessage(json, message);
  if (!status.ok()) {
    return absl::DataLossError(absl::StrCat(path, ": metadata \"", key, "\" is no JSON of ",
                                            message->GetTypeName(), ": ", status.ToString()));
  }
  absl::Status ranges = CheckNesting(*message, message->GetTypeName());
  if (ranges.ok()) ranges = CheckRanges(*message);
  if (ranges.ok()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, ": metadata \"", key, "\": ", std::string(ranges.message())));
}

}  // namespace

std::map<std::string, std::string> CheckpointMetadata(const CheckpointState& state) {
  return {{kFormat, kFormatName},
          {kVersionKey, absl::StrCat(state.format_version())},
          {kStepKey, absl::StrCat(state.step())},
          {kProtocolKey, state.config().protocol()},
          {kConfigKey, CompactJson(state.config())},
          {kSpecKey, CompactJson(state.spec())},
          {kDataKey, CompactJson(state.data())},
          {kStateKey, ProgressJson(state)}};
}

absl::StatusOr<CheckpointState> StateFromMetadata(
    absl::string_view path, const std::map<std::string, std::string>& metadata) {
  CheckpointState state;
  LRA_RETURN_IF_ERROR(ParseJson(path, metadata, kStateKey, &state));
  LRA_RETURN_IF_ERROR(ParseJson(path, metadata, kConfigKey, state.mutable_config()));
  LRA_RETURN_IF_ERROR(ParseJson(path, metadata, kSpecKey, state.mutable_spec()));
  LRA_RETURN_IF_ERROR(ParseJson(path, metadata, kDataKey, state.mutable_data()));
  LRA_ASSIGN_OR_RETURN(const std::string version, Find(path, metadata, kVersionKey));
  int32_t number = 0;
  if (!absl::SimpleAtoi(version, &number)) {
    return absl::DataLossError(
        absl::StrCat(path, ": metadata \"", kVersionKey, "\" is \"", version, "\", not a number"));
  }
  state.set_format_version(number);
  return state;
}

}  // namespace lra
