#include "suite/state.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "eval/metric.h"
#include "eval/run_record.h"
#include "google/protobuf/util/message_differencer.h"
#include "lra/files.h"
#include "lra/fingerprint.h"
#include "lra/progress.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"
#include "nlohmann/json.hpp"

namespace lra {
namespace {

constexpr char kSuiteFile[] = "suite.textproto";

std::string FailurePath(const std::string& out, const SuiteCell& cell) {
  return JoinPath(JoinPath(out, "failures"), absl::StrCat(cell.name, ".textproto"));
}

CellState StateOf(const RunFolder& folder) {
  switch (folder.state) {
    case RunState::kFinished:
      return CellState::kFinished;
    case RunState::kRunning:
      return CellState::kRunning;
    case RunState::kDiverged:
      return CellState::kDiverged;
    case RunState::kStopped:
      break;
  }
  return CellState::kStopped;
}

std::map<CellState, int> Count(const std::vector<CellStatus>& statuses) {
  std::map<CellState, int> counts;
  for (const CellStatus& status : statuses) ++counts[status.state];
  return counts;
}

// Steps done of all, the score on the test split, or why there is none.
std::string DetailOf(const CellStatus& status) {
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
      return status.failure.message();
    case CellState::kRunning:
    case CellState::kStopped:
      return absl::StrCat("step ", FormatCount(status.folder.step()), " of ",
                          FormatCount(status.folder.total_steps()));
    case CellState::kWaiting:
      break;
  }
  return "";
}

// The mean time of finished runs of each cell.
std::map<std::string, double> MeanSeconds(const std::vector<SuiteCell>& cells,
                                          const std::vector<CellStatus>& statuses) {
  std::map<std::string, std::pair<double, int>> sums;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (statuses[i].state != CellState::kFinished) continue;
    auto& [seconds, count] = sums[CellFingerprint(cells[i].config)];
    seconds += statuses[i].folder.record.efficiency().wall_seconds();
    ++count;
  }
  std::map<std::string, double> means;
  for (const auto& [cell, sum] : sums) means[cell] = sum.first / sum.second;
  return means;
}

// What the runs that are left will take; nothing where one has no finished run beside it.
std::optional<double> RemainingSeconds(const std::vector<SuiteCell>& cells,
                                       const std::vector<CellStatus>& statuses, int workers) {
  const std::map<std::string, double> means = MeanSeconds(cells, statuses);
  double seconds = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!IsLeft(statuses[i], false)) continue;
    const auto mean = means.find(CellFingerprint(cells[i].config));
    if (mean == means.end()) return std::nullopt;
    const double total = static_cast<double>(std::max<int64_t>(1, cells[i].config.train().steps()));
    seconds += mean->second * (1 - static_cast<double>(statuses[i].folder.step()) / total);
  }
  return seconds / workers;
}

}  // namespace

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
  return JoinPath(out, cell.name);
}

std::string LogPath(const std::string& out, const SuiteCell& cell) {
  return JoinPath(JoinPath(out, "logs"), absl::StrCat(cell.name, ".log"));
}

absl::StatusOr<CellStatus> ReadCellStatus(const std::string& out, const SuiteCell& cell) {
  CellStatus status;
  absl::StatusOr<RunFolder> folder = ReadRunFolder(RunDirectory(out, cell));
  if (folder.ok()) {
    status.folder = *std::move(folder);
    status.state = StateOf(status.folder);
  } else if (!absl::IsNotFound(folder.status())) {
    return folder.status();
  }
  if (status.state != CellState::kWaiting && status.state != CellState::kStopped) return status;
  const absl::Status read = ReadTextProto(FailurePath(out, cell), &status.failure);
  if (read.ok()) status.state = CellState::kFailed;
  return status;
}

absl::StatusOr<std::vector<CellStatus>> ReadStatuses(const std::string& out,
                                                     const std::vector<SuiteCell>& cells) {
  std::vector<CellStatus> statuses;
  for (const SuiteCell& cell : cells) {
    LRA_ASSIGN_OR_RETURN(CellStatus status, ReadCellStatus(out, cell));
    statuses.push_back(std::move(status));
  }
  return statuses;
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

absl::Status WriteFailure(const std::string& out, const SuiteCell& cell,
                          const SuiteFailure& failure) {
  LRA_RETURN_IF_ERROR(MakeDirectories(JoinPath(out, "failures")));
  return WriteFileAtomically(FailurePath(out, cell), ToTextProto(failure));
}

absl::Status RemoveFailure(const std::string& out, const SuiteCell& cell) {
  return RemoveAll(FailurePath(out, cell));
}

absl::Status ClaimSuiteFolder(const std::string& out, const SuiteFile& suite) {
  const absl::StatusOr<SuiteFile> there = SuiteOfFolder(out);
  if (there.ok()) {
    if (google::protobuf::util::MessageDifferencer::Equals(*there, suite)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(JoinPath(out, kSuiteFile),
                     " is another suite than the one to be run, or an earlier form of "
                     "it; choose another --out, or replace the file by hand if the "
                     "runs there are still to count"));
  }
  if (!absl::IsNotFound(there.status())) return there.status();
  LRA_RETURN_IF_ERROR(MakeDirectories(JoinPath(out, "logs")));
  return WriteFileAtomically(JoinPath(out, kSuiteFile), ToTextProto(suite));
}

absl::StatusOr<SuiteFile> SuiteOfFolder(const std::string& out) {
  SuiteFile suite;
  LRA_RETURN_IF_ERROR(ReadTextProto(JoinPath(out, kSuiteFile), &suite));
  return suite;
}

std::string StatusText(const std::vector<SuiteCell>& cells,
                       const std::vector<CellStatus>& statuses) {
  size_t width = 0;
  for (const SuiteCell& cell : cells) width = std::max(width, cell.name.size());
  std::string text;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string line =
        absl::StrFormat("%-*s  %-8s  %s", static_cast<int>(width), cells[i].name,
                        CellStateName(statuses[i].state), DetailOf(statuses[i]));
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

std::string StatusJson(const std::vector<SuiteCell>& cells,
                       const std::vector<CellStatus>& statuses) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < cells.size(); ++i) {
    runs.push_back({{"run", cells[i].name},
                    {"task", cells[i].config.task()},
                    {"method", MethodOf(cells[i].config)},
                    {"seed", cells[i].seed},
                    {"state", CellStateName(statuses[i].state)},
                    {"step", statuses[i].folder.step()},
                    {"steps", cells[i].config.train().steps()},
                    {"detail", DetailOf(statuses[i])}});
  }
  return nlohmann::ordered_json{{"runs", runs}}.dump(2) + "\n";
}

std::string SummaryText(const std::vector<SuiteCell>& cells,
                        const std::vector<CellStatus>& statuses, int workers) {
  std::map<CellState, int> counts = Count(statuses);
  std::string text =
      absl::StrCat(counts[CellState::kFinished], " of ", cells.size(), " runs finished");
  for (const CellState state : {CellState::kDiverged, CellState::kFailed, CellState::kRunning}) {
    if (counts[state] > 0) absl::StrAppend(&text, ", ", counts[state], " ", CellStateName(state));
  }
  const int left = counts[CellState::kWaiting] + counts[CellState::kStopped];
  if (left == 0) return text;
  absl::StrAppend(&text, ", ", left, " left");
  if (const std::optional<double> seconds = RemainingSeconds(cells, statuses, workers)) {
    absl::StrAppend(&text, ", about ", FormatSeconds(*seconds), " on ", workers,
                    workers == 1 ? " worker" : " workers");
  }
  return text;
}

}  // namespace lra
