#include "lra/plugin_options.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"

namespace lra {

absl::Status CheckOptions(absl::string_view kind, absl::string_view name,
                          const google::protobuf::Message& options) {
  const std::string path = absl::StrCat(kind, ".options");
  LRA_RETURN_IF_ERROR(CheckRanges(options, path));
  const std::vector<std::string> unset = UnsetFields(options);
  if (unset.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": not set: ", absl::StrJoin(unset, ", "), "; ", kind, " ", name,
                   " takes every option from configs/", kind, "s/", name, ".textproto"));
}

absl::Status UnpackInto(absl::string_view kind, absl::string_view name,
                        const google::protobuf::Any& packed, google::protobuf::Message* options) {
  options->Clear();
  if (packed.type_url().empty()) return absl::OkStatus();
  const std::string type = options->GetTypeName();
  std::string held;
  google::protobuf::Any::ParseAnyTypeUrl(packed.type_url(), &held);
  if (held != type) {
    return absl::InvalidArgumentError(absl::StrCat(kind, ".options: holds \"", packed.type_url(),
                                                   "\", ", kind, " ", name, " takes ", type));
  }
  if (options->ParseFromString(packed.value())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(kind, ".options: not a valid ", type));
}

}  // namespace lra
