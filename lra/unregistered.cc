#include "lra/unregistered.h"

#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/config_file.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"

namespace lra {

absl::Status CheckNoFileOf(absl::string_view kind, absl::string_view name) {
  const std::string folder = JoinPath(ConfigDirectory(), absl::StrCat(kind, "s"));
  const std::string path = JoinPath(folder, absl::StrCat(name, kConfigExtension));
  if (name.empty() || !FileExists(path)) return absl::OkStatus();
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
