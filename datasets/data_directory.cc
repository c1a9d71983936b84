#include "datasets/data_directory.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "lra/data_root.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/temporary_name.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

// The line that lra begins a manifest with.
constexpr char kManifestBegin[] = "format_version:";

// A file of a data set, or one that a killed process had begun.
bool IsOfData(const std::string& name) {
  static const std::regex shard(R"(\w+-\d{5}-of-\d{5}\.\w+\.npy)");
  const std::string begun = IsTemporaryName(name) ? name.substr(0, name.rfind(".tmp-")) : name;
  return begun == kManifestFile || begun == kDataOnlyTaskFile || std::regex_match(begun, shard);
}

}  // namespace

std::string DefaultDataDirectory(absl::string_view task) { return JoinPath(DataRoot(), task); }

absl::Status CheckHoldsOnlyData(absl::string_view folder) {
  LRA_ASSIGN_OR_RETURN(const std::string manifest, ReadFile(JoinPath(folder, kManifestFile)));
  if (!absl::StartsWith(manifest, kManifestBegin)) {
    return absl::FailedPreconditionError(
        absl::StrCat("\"", folder, "\": its ", kManifestFile, " is none of a data set"));
  }
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator it(std::string(folder), error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (!IsOfData(name) || it->is_directory(ignored)) others.push_back(name);
  }
  if (error) return absl::UnknownError(absl::StrCat("cannot list \"", folder, "\""));
  if (others.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("\"", folder, "\" holds \"",
                                                    *std::min_element(others.begin(), others.end()),
                                                    "\", which is no part of a data set"));
}

}  // namespace lra
