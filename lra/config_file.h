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
#include "lra/data_root.h"
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

// A file is found by its name, rules beside data by that of their folder, but also names itself
// inside; the two must agree.
inline absl::Status CheckName(absl::string_view kind, absl::string_view name,
                              absl::string_view inside) {
  if (name == inside) return absl::OkStatus();
  LRA_ASSIGN_OR_RETURN(const std::string path, ConfigPath(kind, Singular(kind), name));
  const std::string calls = absl::StrCat(path, " calls itself \"", inside, "\"");
  if (path != DataOnlyTaskPath(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(calls, ", not \"", name, "\" as the file is called; the two must agree"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(calls, ", not \"", name, "\" as its folder is called, by which a task's data ",
                   "and rules are found; call the folder \"", inside,
                   "\", or make data of the name \"", name, "\""));
}

}  // namespace lra

#endif  // LRA_CONFIG_FILE_H_
