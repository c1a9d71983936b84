#include "eval/run_folders.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/temporary_name.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

// What a run leaves in its folder before it has a record.
constexpr const char* kTraces[] = {"checkpoint", "curve.jsonl"};

// Calls `visit` for each run below the folder, in the file system's order, until it returns false.
// Returns why the folder could not be listed.
std::error_code VisitRuns(const std::string& path,
                          const std::function<bool(const fs::path& run)>& visit) {
  std::error_code error;
  fs::recursive_directory_iterator it(path, error), end;
  for (; !error && it != end; it.increment(error)) {
    // What cannot be looked at (a link to itself, a folder without permission) holds no run.
    std::error_code ignored;
    if (!it->is_directory(ignored)) continue;
    if (IsTemporaryName(it->path().filename().string())) {
      it.disable_recursion_pending();
      continue;
    }
    if (!IsRunFolder(it->path().string())) continue;
    if (!visit(it->path())) break;
    it.disable_recursion_pending();
  }
  return error;
}

// Returns the run folders at or below `path`, sorted, so that neither order nor errors depend on
// the file system. What lies inside a run (its evaluations) belongs to that run.
absl::StatusOr<std::vector<fs::path>> RunsBelow(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return absl::NotFoundError(absl::StrCat(path, ": does not exist"));
  if (!fs::is_directory(path, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a folder; name the run's folder"));
  }
  if (IsRunFolder(path)) return std::vector<fs::path>{fs::path(path).lexically_normal()};
  std::vector<fs::path> runs;
  const std::error_code failed = VisitRuns(path, [&runs](const fs::path& run) {
    runs.push_back(run.lexically_normal());
    return true;
  });
  if (failed)
    return absl::InternalError(absl::StrCat(path, ": cannot be listed: ", failed.message()));
  std::sort(runs.begin(), runs.end());
  return runs;
}

}  // namespace

bool IsUnfinishedRun(const std::string& directory) {
  if (FileExists(JoinPath(directory, kRecordFile))) return false;
  return std::any_of(std::begin(kTraces), std::end(kTraces),
                     [&](const char* trace) { return FileExists(JoinPath(directory, trace)); });
}

bool IsRunFolder(const std::string& directory) {
  return FileExists(JoinPath(directory, kRecordFile)) || IsUnfinishedRun(directory);
}

std::string RunAround(const std::string& path) {
  std::error_code ignored;
  fs::path folder = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  while (folder.has_relative_path()) {
    folder = folder.parent_path();
    if (IsRunFolder(folder.string())) return folder.string();
  }
  return "";
}

std::string AnyRunBelow(const std::string& path) {
  if (IsRunFolder(path)) return path;
  std::string found;
  VisitRuns(path, [&found](const fs::path& run) {
    found = run.lexically_normal().string();
    return false;
  });
  return found;
}

absl::StatusOr<std::vector<std::string>> FindRunFolders(absl::Span<const std::string> paths) {
  std::vector<std::string> folders;
  std::set<fs::path> seen;  // canonical, so that overlapping arguments count a run once
  for (const std::string& path : paths) {
    LRA_ASSIGN_OR_RETURN(const std::vector<fs::path> runs, RunsBelow(path));
    for (const fs::path& run : runs) {
      std::error_code ignored;
      if (seen.insert(fs::weakly_canonical(run, ignored)).second) folders.push_back(run.string());
    }
  }
  return folders;
}

std::string FolderName(const std::string& folder) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(folder, ignored).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

}  // namespace lra
