#include "suite/reuse.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "lra/copy_folder.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "suite/state.h"

namespace lra {
namespace {

namespace fs = std::filesystem;

// The folder, then those in it by name.
absl::StatusOr<std::vector<std::string>> PlacesIn(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> places;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;  // what cannot be looked at holds no run
    if (it->is_directory(ignored)) places.push_back(it->path().string());
  }
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": ", error.message(), "; name a folder of runs"));
  }
  std::sort(places.begin(), places.end());
  places.insert(places.begin(), folder);
  return places;
}

bool HoldsEnded(const std::string& folder, const SuiteCell& cell) {
  return FileExists(RunDirectory(folder, cell)) && HasEnded(ReadCellStatus(folder, cell));
}

}  // namespace

absl::StatusOr<std::vector<ReusableRun>> FindReusableRuns(const std::vector<std::string>& folders,
                                                          const std::string& out,
                                                          const std::vector<SuiteCell>& cells) {
  std::vector<std::string> places;
  for (const std::string& folder : folders) {
    LRA_ASSIGN_OR_RETURN(const std::vector<std::string> some, PlacesIn(folder));
    places.insert(places.end(), some.begin(), some.end());
  }
  std::vector<ReusableRun> runs;
  for (const SuiteCell& cell : cells) {
    if (FileExists(RunDirectory(out, cell))) continue;
    const auto place =
        std::find_if(places.begin(), places.end(),
                     [&cell](const std::string& folder) { return HoldsEnded(folder, cell); });
    if (place != places.end()) runs.push_back({cell, RunDirectory(*place, cell)});
  }
  return runs;
}

absl::StatusOr<bool> TakeRun(const ReusableRun& run, const std::string& out) {
  LRA_RETURN_IF_ERROR(MakeDirectories(out));
  const std::string target = JoinPath(out, run.cell.name);
  const absl::Status copied = CopyFolder(run.directory, target);
  if (copied.ok()) return true;
  if (FileExists(target)) return false;  // another process of the suite was faster
  return copied;
}

}  // namespace lra
