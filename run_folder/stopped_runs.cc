#include "run_folder/stopped_runs.h"

#include <string>
#include <utility>
#include <vector>

#include "lra/fingerprint.h"
#include "lra/status_macros.h"
#include "run_folder/run_folder.h"

namespace lra {
namespace {

// The record of a run that diverged. The curve ends at the step that went bad.
RunRecord FailedRecord(const RunFolder& folder) {
  RunRecord record = folder.record;
  record.set_config_fingerprint(Fingerprint(record.config()));
  record.set_cell_fingerprint(CellFingerprint(record.config()));
  record.mutable_failure()->set_kind(RunFailure::DIVERGED);
  record.mutable_failure()->set_step(folder.step());
  record.mutable_failure()->set_cause(folder.failure);
  return record;
}

}  // namespace

absl::Status AddStoppedRuns(FoundRuns* found) {
  std::vector<std::string> unfinished;
  for (const std::string& directory : found->unfinished) {
    const absl::StatusOr<RunFolder> folder = ReadRunFolder(directory);
    const bool is_known = folder.ok() && folder->record.kind() == RunRecord::MEASURED;
    if (!folder.ok() && !absl::IsNotFound(folder.status())) return folder.status();
    if (is_known && !folder->failure.empty()) {
      found->runs.push_back({directory, FailedRecord(*folder)});
      continue;
    }
    if (is_known) found->stopped.push_back({directory, folder->record});
    unfinished.push_back(directory);
  }
  found->unfinished = std::move(unfinished);
  return absl::OkStatus();
}

}  // namespace lra
