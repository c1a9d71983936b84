#include "lra/unregistered.h"

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/config_file.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "lra/textproto.h"

namespace lra {
namespace {

// What the file calls itself; empty where it cannot be read, as with options that the program does
// not know.
std::string NameInside(absl::string_view kind, const std::string& path) {
  AttentionFile attention;
  BlockFile block;
  TaskFile task;
  if (kind == "attention" && ReadTextProto(path, &attention).ok())
    return attention.attention().name();
  if (kind == "block" && ReadTextProto(path, &block).ok()) return block.block().name();
  if (kind == "task" && ReadTextProto(path, &task).ok()) return task.name();
  return "";
}

}  // namespace

absl::Status CheckNoFileOf(absl::string_view kind, absl::string_view name) {
  const std::string kinds = absl::StrCat(kind, "s");
  const std::string folder = JoinPath(ConfigDirectory(), kinds);
  const std::string path = JoinPath(folder, absl::StrCat(name, kConfigExtension));
  if (name.empty() || !FileExists(path)) return absl::OkStatus();
  const std::string inside = NameInside(kind, path);
  if (!inside.empty()) LRA_RETURN_IF_ERROR(CheckName(kinds, name, inside));
  return absl::InvalidArgumentError(
      absl::StrCat(kind, " \"", name, "\": ", path,
                   " is there, but no source of this program registers the name; build again, or "
                   "register the ",
                   kind, " under the name of its file"));
}

absl::Status UnregisteredError(absl::string_view kind, absl::string_view name,
                               const std::vector<std::string>& registered) {
  LRA_RETURN_IF_ERROR(CheckNoFileOf(kind, name));
  return UnknownNameError(kind, name, registered);
}

}  // namespace lra
