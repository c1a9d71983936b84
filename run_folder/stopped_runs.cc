#include "run_folder/stopped_runs.h"

#include <string>
#include <utility>
#include <vector>

#include "lra/fingerprint.h"
#include "lra/status_macros.h"
#include "run_folder/run_folder.h"

namespace lra {
namespace {

RunRecord WithFingerprints(RunRecord record) {
  record.set_config_fingerprint(Fingerprint(record.config()));
  record.set_cell_fingerprint(CellFingerprint(record.config()));
  return record;
}

}  // namespace

absl::Status AddStoppedRuns(FoundRuns* found) {
  std::vector<std::string> unfinished;
  for (const std::string& directory : found->unfinished) {
    const absl::StatusOr<RunFolder> folder = ReadRunFolder(directory);
    const bool is_known = folder.ok() && folder->record.kind() == RunRecord::MEASURED;
    if (!folder.ok() && !absl::IsNotFound(folder.status())) return folder.status();
    if (is_known && folder->state == RunState::kDiverged) {
      found->runs.push_back({directory, WithFingerprints(folder->record)});
      continue;
    }
    if (is_known) found->stopped.push_back({directory, folder->record});
    unfinished.push_back(directory);
  }
  found->unfinished = std::move(unfinished);
  return absl::OkStatus();
}

}  // namespace lra
