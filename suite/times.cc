#include "suite/times.h"

#include "absl/strings/str_cat.h"
#include "lra/files.h"
#include "lra/status_macros.h"
#include "lra/textproto.h"

namespace lra {
namespace {

std::string TimePath(const std::string& out, const SuiteCell& cell) {
  return JoinPath(JoinPath(out, "times"), absl::StrCat(cell.name, ".textproto"));
}

// The time of what the folder holds so far, which another process may have gone on with since.
SuiteTime TimeBefore(const std::string& out, const SuiteCell& cell, const CellStatus& before) {
  SuiteTime time;
  if (before.folder.step() == 0) return time;
  const bool is_known = ReadTextProto(TimePath(out, cell), &time).ok();
  if (!is_known || time.step() != before.folder.step()) time.set_is_part(true);
  return time;
}

// What trained a finished run, where its time is of an earlier build, which did not note it.
std::string DeviceOfRecord(const CellStatus& status) {
  return status.folder.record.machine().device().empty() ? "cpu" : "cuda";
}

}  // namespace

absl::Status AddTime(const std::string& out, const SuiteCell& cell, const CellStatus& before,
                     const CellStatus& after, const SuiteTime& took) {
  SuiteTime time = TimeBefore(out, cell, before);
  if (!time.device().empty() && time.device() != took.device()) time.set_is_part(true);
  time.set_device(took.device());
  time.set_wall_seconds(time.wall_seconds() + took.wall_seconds());
  time.set_cpu_seconds(time.cpu_seconds() + took.cpu_seconds());
  if (took.peak_memory_bytes() >= time.peak_memory_bytes()) {
    time.set_peak_memory_bytes(took.peak_memory_bytes());
    time.set_runs_at_once(took.runs_at_once());
  }
  time.set_processes(time.processes() + 1);
  time.set_step(after.folder.step());
  LRA_RETURN_IF_ERROR(MakeDirectories(JoinPath(out, "times")));
  return WriteFileAtomically(TimePath(out, cell), ToTextProto(time));
}

std::optional<SuiteTime> WholeTime(const std::string& out, const SuiteCell& cell,
                                   const CellStatus& status) {
  SuiteTime time;
  if (status.state != CellState::kFinished || !ReadTextProto(TimePath(out, cell), &time).ok())
    return std::nullopt;
  if (time.is_part() || time.step() != status.folder.step()) return std::nullopt;
  if (time.device().empty()) time.set_device(DeviceOfRecord(status));
  return time;
}

}  // namespace lra
