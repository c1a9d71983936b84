#include "suite/suite_file.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/config.h"
#include "lra/files.h"
#include "lra/run_file.h"
#include "lra/status_macros.h"
#include "lra/suggest.h"
#include "lra/textproto.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

constexpr char kEnding[] = ".textproto";

// Without the names of all, which fill a screen.
absl::Status UnknownSuite(const std::string& name, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(name, known);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown suite \"", name, "\"; ",
      nearest.empty() ? "" : absl::StrCat("did you mean \"", nearest, "\"? "),
      "`lra list suites` lists all ", known.size(), "; the path of a file ends in ", kEnding));
}

}  // namespace

bool IsRunFileOfUser(const std::string& name) { return absl::EndsWith(name, kEnding); }

std::string RunFilePath(const std::string& name) {
  if (IsRunFileOfUser(name)) return name;
  return name.empty() ? "" : JoinPath(ConfigDirectory(), absl::StrCat(name, kEnding));
}

absl::StatusOr<SuiteFile> ReadSuiteFile(const std::string& path) {
  SuiteFile suite;
  LRA_RETURN_IF_ERROR(ReadTextProto(path, &suite));
  const fs::path folder = fs::path(path).parent_path();
  for (SuiteGroup& group : *suite.mutable_group()) {
    if (IsRunFileOfUser(group.run_file()))
      group.set_run_file((folder / group.run_file()).lexically_normal().string());
  }
  return suite;
}

absl::StatusOr<SuiteFile> LoadSuite(const std::string& name_or_path) {
  std::string path = name_or_path;
  if (!absl::EndsWith(path, kEnding)) {
    const std::vector<std::string> known = ConfigNames("suites");
    if (!known.empty() && std::find(known.begin(), known.end(), path) == known.end())
      return UnknownSuite(name_or_path, known);
    LRA_ASSIGN_OR_RETURN(path, ConfigPath("suites", "suite", name_or_path));
  }
  absl::StatusOr<SuiteFile> suite = ReadSuiteFile(path);
  if (absl::IsInvalidArgument(suite.status()) && ReadRunFile(path).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(suite.status().message(), "; this is a run file: lra train --config ", path));
  }
  return suite;
}

std::string SuiteName(const std::string& name_or_path) {
  return fs::path(name_or_path).stem().string();
}

}  // namespace lra
