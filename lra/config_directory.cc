#include "lra/config_directory.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "lra/config.h"

namespace lra {
namespace {

constexpr char kThisProgram[] = "/proc/self/exe";

std::string ResolvedProgram() {
  std::error_code error;
  return std::filesystem::read_symlink(kThisProgram, error).string();
}

}  // namespace

std::string ThisBinary() {
  Dl_info info;
  void* loaded = nullptr;
  // Any address of this code does. A program's own name is empty in the list of what is loaded.
  if (dladdr1(kThisProgram, &info, &loaded, RTLD_DL_LINKMAP) != 0 && loaded != nullptr) {
    const std::string name = static_cast<const link_map*>(loaded)->l_name;
    if (!name.empty()) return name;
  }
  return ResolvedProgram();
}

std::optional<std::string> ConfigsInstalledWith(absl::string_view binary) {
  const std::filesystem::path folder = std::filesystem::path(std::string(binary)).parent_path();
  for (const std::filesystem::path& prefix : {folder / "program", folder.parent_path()}) {
    const std::filesystem::path configs = prefix / LRA_INSTALLED_CONFIGS;
    std::error_code error;
    if (std::filesystem::is_directory(configs, error)) return configs.string();
  }
  return std::nullopt;
}

std::string ConfigDirectory() {
  if (const char* folder = std::getenv("LRA_CONFIGS"); folder != nullptr && *folder != '\0')
    return folder;
  // A module that belongs to no wheel may have been installed beside the Python that loads it.
  for (const std::string& binary : {ThisBinary(), ResolvedProgram()}) {
    if (std::optional<std::string> configs = ConfigsInstalledWith(binary)) return *configs;
  }
  return LRA_SOURCE_CONFIGS;
}

absl::Status CheckConfigDirectory() {
  const char* const given = std::getenv("LRA_CONFIGS");
  if (given == nullptr || *given == '\0') return absl::OkStatus();
  std::error_code error;
  if (std::filesystem::is_directory(std::filesystem::path(given) / "protocols", error))
    return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "LRA_CONFIGS is \"", given,
      "\", which holds no configurations; set it to a folder such as configs/, or unset it"));
}

}  // namespace lra
