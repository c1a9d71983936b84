#include "suite/state.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <regex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "eval/metric.h"
#include "eval/run_record.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/text_columns.h"
#include "lra/textproto.h"
#include "nlohmann/json.hpp"
#include "suite/cell_differences.h"

namespace lra {
namespace {

// The system kills so where memory is short, and the run cannot say it. What to ask for then is
// about twice what was there.
std::string KilledText(const SuiteFailure& failure) {
  if (!failure.lacked_memory())
    return " (killed: too little memory? fewer --workers, or on a cluster more --memory)";
  std::string had, more = "more --memory";
  if (failure.memory_bytes() > 0) {
    constexpr int64_t kGigabyte = 1000000000;
    const int64_t twice = (2 * failure.memory_bytes() + kGigabyte / 2) / kGigabyte;
    had = absl::StrCat(", of which its job had ", FormatBytes(failure.memory_bytes()));
    more = absl::StrCat("--memory ", std::max<int64_t>(1, twice), "GB");
  }
  return absl::StrCat(" (killed for want of memory", had,
                      ": --retry-failed with fewer --workers, or on a cluster with ", more, ")");
}

std::string FailurePath(const std::string& out, const SuiteCell& cell) {
  return JoinPath(JoinPath(out, "failures"), absl::StrCat(cell.name, ".textproto"));
}

// A search's trial or pretraining is a part of a run that has not ended, however it ended itself.
// What has ended stays so, whoever holds its folder.
CellState StateOf(const RunFolder& folder, bool is_training) {
  const bool is_whole = folder.part.empty();
  if (is_whole && folder.state == RunState::kFinished) return CellState::kFinished;
  if (is_whole && folder.state == RunState::kDiverged) return CellState::kDiverged;
  if (is_training || (is_whole && folder.state == RunState::kRunning)) return CellState::kRunning;
  return CellState::kStopped;
}

// What is wrong with its folder or notes, as opposed to what a process noted.
CellStatus Failed(std::string message) {
  CellStatus status;
  status.state = CellState::kFailed;
  status.needs_mending = true;
  status.failure.set_message(std::move(message));
  return status;
}

// The first split whose examples are not the wanted ones, with both fingerprints; empty where there
// is none, or nothing is known of one of the two.
std::string DataDifference(const DataIdentity& there, const DataIdentity& wanted) {
  for (const char* split : {"train", "validation", "test"}) {
    const auto here = wanted.split_fingerprint().find(split);
    const auto other = there.split_fingerprint().find(split);
    if (here == wanted.split_fingerprint().end() || other == there.split_fingerprint().end() ||
        here->second == other->second)
      continue;
    return absl::StrCat("split ", split, " is ", ShortFingerprint(other->second), ", wanted is ",
                        ShortFingerprint(here->second));
  }
  return "";
}

// Encoders that seeds have of their own are no part of a cell, so each may have one of another
// making.
bool HasItsWeights(const RunRecord& record, const SuiteCell& cell) {
  return record.config().encoder_weights_sha256() == cell.config.encoder_weights_sha256();
}

// Why the folder's run is not the cell's; empty if it is. A run has no configuration before its
// first checkpoint.
std::string Mismatch(const RunRecord& record, const std::string& directory, const SuiteCell& cell) {
  if (record.config().task().empty()) return "";
  if (record.has_later_look())
    return absl::StrCat(directory, " holds an evaluation (`lra eval`), not a run: move it away");
  const std::string there = CellFingerprint(record.config()), wanted = CellFingerprint(cell.config);
  if (there != wanted || record.config().seed() != cell.seed) {
    return absl::StrCat(directory, " holds a run with other settings (cell ",
                        ShortFingerprint(there), ", seed ", record.config().seed(), "; wanted ",
                        ShortFingerprint(wanted), ", seed ", cell.seed, "): move it away");
  }
  if (!HasItsWeights(record, cell)) {
    return absl::StrCat(directory, " holds a run that began from other weights (",
                        ShortFingerprint(record.config().encoder_weights_sha256()), "; wanted ",
                        ShortFingerprint(cell.config.encoder_weights_sha256()), "): move it away");
  }
  const std::string data = DataDifference(record.data(), cell.data);
  if (data.empty()) return "";
  return absl::StrCat(directory, " holds a run on other data (", data,
                      "): move it away, or bring back the data that it was trained on");
}

std::map<CellState, int> Count(const std::vector<CellStatus>& statuses) {
  std::map<CellState, int> counts;
  for (const CellStatus& status : statuses) ++counts[status.state];
  return counts;
}

// Before its first checkpoint a run's folder does not say how many steps it has; parts of a run
// have numbers of their own.
std::string StepsText(const SuiteCell& cell, const RunFolder& folder) {
  int64_t all = folder.total_steps();
  if (all == 0 && folder.part.empty()) all = cell.config.train().steps();
  return absl::StrCat("step ", FormatCount(folder.step()),
                      all > 0 ? absl::StrCat(" of ", FormatCount(all)) : "");
}

// Steps done of all, the score on the test split, or why there is none.
std::string ProgressOf(const SuiteCell& cell, const CellStatus& status) {
  const RunRecord& record = status.folder.record;
  switch (status.state) {
    case CellState::kFinished: {
      const SplitResult* result = FindResult(record, "test");
      const absl::StatusOr<const Metric*> metric = status.folder.metric();
      if (result == nullptr || !metric.ok()) return "";
      return absl::StrCat((*metric)->Text((*metric)->Value(result->sums())), " (test)");
    }
    case CellState::kDiverged:
      return status.folder.failure;
    case CellState::kFailed:
      return DescribeFailure(status.failure);
    case CellState::kRunning:
    case CellState::kStopped:
      return StepsText(cell, status.folder);
    case CellState::kWaiting:
      break;
  }
  return "";
}

// With what the cluster says of a run that has not ended.
std::string DetailOf(const SuiteCell& cell, const CellStatus& status) {
  const bool is_open = IsLeft(status, true) || status.state == CellState::kRunning;
  std::string progress = ProgressOf(cell, status);
  if (!is_open || !status.slurm) return progress;
  return absl::StrCat(progress, progress.empty() ? "" : "; ", DescribeItem(*status.slurm));
}

// "listops-linear-small-strong-s0" of "listops-linear-small-strong-1a2b3c4d-s0".
std::string WithoutDigits(const std::string& name) {
  static const std::regex& digits = *new std::regex("-[0-9a-f]{8}(-s[0-9]+)$");
  return std::regex_replace(name, digits, "$1");
}

bool IsRunOf(const std::string& directory, const SuiteCell& cell) {
  const absl::StatusOr<RunFolder> folder = ReadActivePart(directory);
  return folder.ok() && !folder->record.has_later_look() &&
         !folder->record.config().task().empty() && folder->record.config().seed() == cell.seed &&
         CellFingerprint(folder->record.config()) == CellFingerprint(cell.config) &&
         HasItsWeights(folder->record, cell);
}

}  // namespace

std::string DescribeFailure(const SuiteFailure& failure) {
  if (failure.signal() != 0) {
    const std::string hint = failure.signal() == SIGKILL ? KilledText(failure) : "";
    const char* const separator = failure.message().empty() ? "" : ": ";
    return absl::StrCat("signal ", failure.signal(), hint, separator, failure.message());
  }
  if (failure.exit_code() != 0)
    return absl::StrCat("exit code ", failure.exit_code(), ": ", failure.message());
  return failure.message();
}

const char* CellStateName(CellState state) {
  switch (state) {
    case CellState::kWaiting:
      return "waiting";
    case CellState::kStopped:
      return "stopped";
    case CellState::kRunning:
      return "running";
    case CellState::kFinished:
      return "finished";
    case CellState::kDiverged:
      return "diverged";
    case CellState::kFailed:
      return "failed";
  }
  return "";
}

std::string RunDirectory(const std::string& out, const SuiteCell& cell) {
  const std::string named = JoinPath(out, cell.name);
  if (FileExists(named)) return named;
  const std::string plain = JoinPath(out, WithoutDigits(cell.name));
  return plain != named && IsRunOf(plain, cell) ? plain : named;
}

std::string LogPath(const std::string& out, const SuiteCell& cell) {
  return JoinPath(JoinPath(out, "logs"), absl::StrCat(cell.name, ".log"));
}

CellStatus ReadCellStatus(const std::string& out, const SuiteCell& cell) {
  const std::string directory = RunDirectory(out, cell);
  const bool is_training = IsTraining(directory);
  CellStatus status;
  absl::StatusOr<RunFolder> folder = ReadActivePart(directory);
  if (folder.ok()) {
    const std::string mismatch =
        folder->part.empty() ? Mismatch(folder->record, directory, cell) : "";
    if (!mismatch.empty()) return Failed(mismatch);
    status.folder = *std::move(folder);
    status.state = StateOf(status.folder, is_training);
  } else if (!absl::IsNotFound(folder.status())) {
    return Failed(std::string(folder.status().message()));
  } else if (is_training) {
    status.state = CellState::kRunning;
  }
  if (!IsLeft(status, false)) return status;
  const absl::Status read = ReadTextProto(FailurePath(out, cell), &status.failure);
  if (absl::IsNotFound(read)) return status;
  if (!read.ok()) return Failed(std::string(read.message()));
  status.state = CellState::kFailed;
  return status;
}

std::vector<CellStatus> ReadStatuses(const std::string& out, const std::vector<SuiteCell>& cells) {
  std::vector<CellStatus> statuses;
  for (const SuiteCell& cell : cells) statuses.push_back(ReadCellStatus(out, cell));
  return statuses;
}

bool HasEnded(const CellStatus& status) {
  return status.state == CellState::kFinished || status.state == CellState::kDiverged;
}

bool IsLeft(const CellStatus& status, bool retries_failed) {
  switch (status.state) {
    case CellState::kWaiting:
    case CellState::kStopped:
      return true;
    case CellState::kFailed:
      return retries_failed;
    case CellState::kRunning:
    case CellState::kFinished:
    case CellState::kDiverged:
      break;
  }
  return false;
}

bool IsWorthAnother(const CellStatus& before, const CellStatus& after) {
  if (after.state == CellState::kRunning) return true;
  if (after.failure.signal() != 0) return !after.failure.lacked_memory();
  return after.state == CellState::kStopped &&
         (after.folder.step() != before.folder.step() || after.folder.part != before.folder.part);
}

absl::Status WriteFailure(const std::string& out, const SuiteCell& cell,
                          const SuiteFailure& failure) {
  LRA_RETURN_IF_ERROR(MakeDirectories(JoinPath(out, "failures")));
  return WriteFileAtomically(FailurePath(out, cell), ToTextProto(failure));
}

absl::Status RemoveFailure(const std::string& out, const SuiteCell& cell) {
  return RemoveAll(FailurePath(out, cell));
}

std::string StatusText(const std::vector<SuiteCell>& cells,
                       const std::vector<CellStatus>& statuses) {
  constexpr size_t kStateCharacters = 8;
  const CellDifferences differences = DifferencesOf(cells);
  std::vector<std::vector<std::string>> lines;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string detail = DetailOf(cells[i], statuses[i]);
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(cells[i].name);
    if (!differences.empty()) line.push_back(DifferencesText(differences, cells[i]));
    line.push_back(PadRight(CellStateName(statuses[i].state), kStateCharacters));
    line.emplace_back(absl::StripTrailingAsciiWhitespace(detail));
  }
  return AlignedText(lines);
}

nlohmann::ordered_json StatusJson(const std::vector<SuiteCell>& cells,
                                  const std::vector<CellStatus>& statuses) {
  const CellDifferences differences = DifferencesOf(cells);
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::optional<ItemState>& slurm = statuses[i].slurm;
    runs.push_back({{"run", cells[i].name},
                    {"task", cells[i].config.task()},
                    {"method", MethodOf(cells[i].config)},
                    {"seed", cells[i].seed},
                    {"state", CellStateName(statuses[i].state)},
                    {"step", statuses[i].folder.step()},
                    {"steps", cells[i].config.train().steps()},
                    {"detail", DetailOf(cells[i], statuses[i])}});
    const auto own = differences.find(CellName(cells[i]));
    if (own != differences.end()) runs.back()["set_apart_by"] = own->second;
    if (slurm) {
      runs.back()["slurm"] = {{"job", slurm->element},
                              {"queued", slurm->is_queued},
                              {"state", slurm->state},
                              {"reason", slurm->reason}};
      if (!slurm->cluster.empty()) runs.back()["slurm"]["cluster"] = slurm->cluster;
    }
  }
  return {{"runs", runs}};
}

std::string SummaryText(const std::vector<CellStatus>& statuses) {
  std::map<CellState, int> counts = Count(statuses);
  std::string text =
      absl::StrCat(counts[CellState::kFinished], " of ", statuses.size(), " runs finished");
  for (const CellState state : {CellState::kDiverged, CellState::kFailed, CellState::kRunning}) {
    if (counts[state] > 0) absl::StrAppend(&text, ", ", counts[state], " ", CellStateName(state));
  }
  const int left = counts[CellState::kWaiting] + counts[CellState::kStopped];
  if (left > 0) absl::StrAppend(&text, ", ", left, " left");
  const auto queued = std::count_if(statuses.begin(), statuses.end(), [](const CellStatus& status) {
    return status.is_queued() && IsLeft(status, true);
  });
  if (queued > 0) absl::StrAppend(&text, ", ", queued, " of them queued");
  return text;
}

}  // namespace lra
