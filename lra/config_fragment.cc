// Protocols and presets: files that extend others, and their earlier versions.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/config.h"
#include "lra/config_file.h"
#include "lra/files.h"
#include "lra/protocol_rules.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

// Merges into `file` what `base` says for all tasks and for single tasks, and for single methods
// where `file` keeps them.
ConfigFragment Extend(const ConfigFragment& base, const ConfigFragment& file) {
  ConfigFragment extended = file;
  *extended.mutable_base() = base.base();
  *extended.mutable_task() = base.task();
  MergeConfig(file.base(), extended.mutable_base());
  for (const auto& [task, part] : file.task()) MergeConfig(part, &(*extended.mutable_task())[task]);
  if (!file.keeps_methods()) return extended;
  *extended.mutable_method() = base.method();
  for (const auto& [key, part] : file.method())
    MergeConfig(part, &(*extended.mutable_method())[key]);
  return extended;
}

// Where earlier versions lie, which are not listed: protocols/earlier/strong@1.textproto.
std::string EarlierFolder(absl::string_view kind) {
  return JoinPath(ConfigDirectory(), absl::StrCat(kind, "/earlier"));
}

// The file of "strong", or of protocol "strong@1", without what it extends.
absl::StatusOr<ConfigFragment> LoadOne(absl::string_view kind, absl::string_view full_name) {
  const std::string name(kind == "protocols" ? ProtocolName(full_name) : full_name);
  LRA_ASSIGN_OR_RETURN(ConfigFragment file, LoadConfig<ConfigFragment>(kind, name));
  LRA_RETURN_IF_ERROR(CheckName(kind, name, file.name()));
  const std::string current = absl::StrCat(name, "@", file.version());
  if (full_name == name || full_name == current) return file;
  std::vector<std::string> known = EarlierVersions(kind, name);
  if (std::count(known.begin(), known.end(), full_name) == 0) {
    known.push_back(current);
    return absl::InvalidArgumentError(
        absl::StrCat(Singular(kind), " \"", full_name, "\" is not here; there ",
                     known.size() == 1 ? "is " : "are ", absl::StrJoin(known, ", ")));
  }
  const std::string path = JoinPath(EarlierFolder(kind), absl::StrCat(full_name, kConfigExtension));
  file.Clear();
  LRA_RETURN_IF_ERROR(ReadTextProto(path, &file));
  const std::string inside = absl::StrCat(file.name(), "@", file.version());
  LRA_RETURN_IF_ERROR(CheckName(absl::StrCat(kind, "/earlier"), full_name, inside));
  return file;
}

// `chain` holds the names of the files that led here, the first one first.
absl::StatusOr<ConfigFragment> LoadExtended(absl::string_view kind, absl::string_view name,
                                            std::vector<std::string> chain) {
  chain.emplace_back(name);
  if (std::count(chain.begin(), chain.end(), chain.back()) > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("goes round in a circle: ", absl::StrJoin(chain, " -> ")));
  }
  LRA_ASSIGN_OR_RETURN(const ConfigFragment file, LoadOne(kind, name));
  if (file.extends().empty()) return file;
  const absl::StatusOr<ConfigFragment> base = LoadExtended(kind, file.extends(), chain);
  LRA_RETURN_IF_ERROR(Annotate(base.status(), absl::StrCat(kind, "/", name, kConfigExtension,
                                                           ": extends \"", file.extends(), "\"")));
  return Extend(*base, file);
}

}  // namespace

std::vector<std::string> EarlierVersions(absl::string_view kind, absl::string_view name) {
  std::set<std::string> versions;
  std::error_code error;
  const std::filesystem::directory_iterator folder(EarlierFolder(kind), error);
  if (error) return {};
  for (const std::filesystem::directory_entry& entry : folder) {
    const std::string version = entry.path().stem().string();
    if (entry.path().extension().string() == kConfigExtension &&
        absl::StartsWith(version, absl::StrCat(name, "@")))
      versions.insert(version);
  }
  std::vector<std::string> sorted(versions.begin(), versions.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return sorted;
}

absl::StatusOr<ConfigFragment> LoadFragment(absl::string_view kind, absl::string_view name) {
  return LoadExtended(kind, name, {});
}

}  // namespace lra
