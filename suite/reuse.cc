#include "suite/reuse.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eval/run_record.h"
#include "lra/copy_folder.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
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

// Folders of runs with records, by the cell's fingerprint and the seed: `lra train --out` may have
// given them any name.
using RunsByCell = std::multimap<std::pair<std::string, uint32_t>, std::string>;

RunsByCell RunsAt(const std::vector<std::string>& places) {
  RunsByCell runs;
  for (const std::string& place : places) {
    const absl::StatusOr<RunRecord> record = ReadRunRecord(place);
    if (!record.ok()) continue;
    runs.emplace(std::make_pair(CellFingerprint(record->config()), record->config().seed()), place);
  }
  return runs;
}

// The folder of an ended run of the cell under whatever name; empty where there is none.
std::string FindEnded(const RunsByCell& runs, const SuiteCell& cell) {
  const auto [first, last] = runs.equal_range({CellFingerprint(cell.config), cell.seed});
  for (auto run = first; run != last; ++run) {
    fs::path directory = fs::path(run->second).lexically_normal();
    if (directory.filename().empty()) directory = directory.parent_path();  // "runs/x/"
    SuiteCell named = cell;
    named.name = directory.filename().string();
    if (HoldsEnded(directory.parent_path().string(), named)) return run->second;
  }
  return "";
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
  std::optional<RunsByCell> by_cell;  // read where a name does not do
  std::vector<ReusableRun> runs;
  for (const SuiteCell& cell : cells) {
    if (FileExists(RunDirectory(out, cell))) continue;
    const auto place =
        std::find_if(places.begin(), places.end(),
                     [&cell](const std::string& folder) { return HoldsEnded(folder, cell); });
    if (place != places.end()) {
      runs.push_back({cell, RunDirectory(*place, cell)});
      continue;
    }
    if (!by_cell) by_cell = RunsAt(places);
    const std::string found = FindEnded(*by_cell, cell);
    if (!found.empty()) runs.push_back({cell, found});
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
