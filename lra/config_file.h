// Single files of configs/, found by their names.
#ifndef LRA_CONFIG_FILE_H_
#define LRA_CONFIG_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lra/config.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {

inline constexpr absl::string_view kConfigExtension = ".textproto";

// Turns "protocols" into "protocol", the word that messages use for one of them.
inline absl::string_view Singular(absl::string_view kind) {
  return absl::EndsWith(kind, "s") ? kind.substr(0, kind.size() - 1) : kind;
}

template <class File>
absl::StatusOr<File> LoadConfig(absl::string_view kind, absl::string_view name) {
  LRA_ASSIGN_OR_RETURN(const std::string path, ConfigPath(kind, Singular(kind), name));
  File file;
  LRA_RETURN_IF_ERROR(ReadTextProto(path, &file));
  return file;
}

// A file is found by its name, but also names itself inside; the two must agree.
inline absl::Status CheckName(absl::string_view kind, absl::string_view name,
                              absl::string_view inside) {
  if (name == inside) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(kind, "/", name, kConfigExtension, " calls itself \"", inside, "\""));
}

}  // namespace lra

#endif  // LRA_CONFIG_FILE_H_
