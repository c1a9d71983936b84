// Where configs/ lies. lra/config.h has ConfigDirectory(), which most callers want.
#ifndef LRA_CONFIG_DIRECTORY_H_
#define LRA_CONFIG_DIRECTORY_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lra {

// The path of the file that this code was loaded from: the program's, or that of an extension
// module in another program's process, such as Python's.
std::string ThisBinary();

// The folder with configurations that was installed together with a binary, nothing where none is.
// A program in PREFIX/bin has PREFIX/share/lra/configs; the module of a Python package,
// PACKAGE/_lra.so, has PACKAGE/program/share/lra/configs.
std::optional<std::string> ConfigsInstalledWith(absl::string_view binary);

// NotFound where $LRA_CONFIGS is set and names no folder with configurations, which would look like
// a program without tasks and methods.
absl::Status CheckConfigDirectory();

}  // namespace lra

#endif  // LRA_CONFIG_DIRECTORY_H_
