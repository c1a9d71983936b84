#include "suite/times.h"

#include <algorithm>

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

}  // namespace

absl::Status AddTime(const std::string& out, const SuiteCell& cell, const CellStatus& before,
                     const CellStatus& after, const WorkerEnd& end, double wall_seconds) {
  SuiteTime time = TimeBefore(out, cell, before);
  time.set_wall_seconds(time.wall_seconds() + wall_seconds);
  time.set_cpu_seconds(time.cpu_seconds() + end.cpu_seconds);
  time.set_peak_memory_bytes(std::max(time.peak_memory_bytes(), end.peak_memory_bytes));
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
  return time;
}

}  // namespace lra
