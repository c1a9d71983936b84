// How far the runs of a suite are, as their folders say.
//
//   OUT/suite.textproto              the suite (SuiteFile)
//   OUT/run_files/                   run files that it names by a path (RunFile)
//   OUT/NAME/                        a run's folder (docs/results_format.md)
//   OUT/failures/NAME.textproto      a run that ended without a record (SuiteFailure)
//   OUT/logs/NAME.log                what it wrote
//   OUT/times/NAME.textproto         what it took (SuiteTime)
//   OUT/plan/CELL.textproto          what it was predicted to take (SuiteEstimate)
//   OUT/slurm/                       what was submitted to a cluster (suite/submissions.h)
#ifndef LRA_SUITE_STATE_H_
#define LRA_SUITE_STATE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "run_folder/run_folder.h"
#include "suite/cells.h"
#include "suite/submissions.h"

namespace lra {

enum class CellState {
  kWaiting,   // nothing is there
  kStopped,   // begun; it can be continued
  kRunning,   // some process trains it
  kFinished,  // with a record
  kDiverged,  // with a record of it
  // It ended without a record, or its folder cannot be read or is that of another run or of other
  // data.
  kFailed,
};

// "waiting", ...
const char* CellStateName(CellState state);

struct CellStatus {
  CellState state = CellState::kWaiting;
  RunFolder folder;      // of a run that has begun; its search or pretraining while that goes on
  SuiteFailure failure;  // of kFailed
  // Its folder is what is wrong (kFailed): another try would fail as this one did.
  bool needs_mending = false;
  // Its element in a cluster's queue, where somebody asked (AddSlurmStates).
  std::optional<ItemState> slurm;
  bool is_queued() const { return slurm && slurm->is_queued; }
};

// "exit code 1: no space left on device", "signal 11", "signal 9 (killed: ...): step 3". Where
// memory is known to have been short, it says how to ask for more.
std::string DescribeFailure(const SuiteFailure& failure);

// OUT/NAME. A run whose name got digits when its protocol got a later version stays where it was
// begun without them.
std::string RunDirectory(const std::string& out, const SuiteCell& cell);
std::string LogPath(const std::string& out, const SuiteCell& cell);

// What is wrong with a folder is the state of its run alone: kFailed, with the message.
CellStatus ReadCellStatus(const std::string& out, const SuiteCell& cell);
std::vector<CellStatus> ReadStatuses(const std::string& out, const std::vector<SuiteCell>& cells);

// Whether a run has a record, of its end or of having diverged.
bool HasEnded(const CellStatus& status);

// Whether a run of the suite has to be trained still; failed ones only if they are to be tried
// again.
bool IsLeft(const CellStatus& status, bool retries_failed);

// Whether a process that goes on with the run, with no more memory, would get further than the one
// that has ended: it was killed for another reason, or saved something.
bool IsWorthAnother(const CellStatus& before, const CellStatus& after);

absl::Status WriteFailure(const std::string& out, const SuiteCell& cell,
                          const SuiteFailure& failure);
absl::Status RemoveFailure(const std::string& out, const SuiteCell& cell);

// A line a run with its state, and how many are in each: `lra status`.
std::string StatusText(const std::vector<SuiteCell>& cells,
                       const std::vector<CellStatus>& statuses);
nlohmann::ordered_json StatusJson(const std::vector<SuiteCell>& cells,
                                  const std::vector<CellStatus>& statuses);
// "5 of 12 runs finished, 1 diverged, 1 failed, 5 left"
std::string SummaryText(const std::vector<CellStatus>& statuses);

}  // namespace lra

#endif  // LRA_SUITE_STATE_H_
