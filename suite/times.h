// What the runs of a suite took, as the suite that trained them saw it: OUT/times/NAME.textproto
// (SuiteTime).
#ifndef LRA_SUITE_TIMES_H_
#define LRA_SUITE_TIMES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "suite/state.h"
#include "suite/suite.pb.h"

namespace lra {

// Adds what a process that trained the run took of it (times, memory, device), in whose folder
// `before` and `after` were. A run that begins anew loses earlier times; one with steps that no
// suite saw, or on two devices, is marked so.
absl::Status AddTime(const std::string& out, const SuiteCell& cell, const CellStatus& before,
                     const CellStatus& after, const SuiteTime& took);

// The whole time of a finished run, with its device also where an earlier build noted none; nothing
// where a part of it is not known, or it has not ended.
std::optional<SuiteTime> WholeTime(const std::string& out, const SuiteCell& cell,
                                   const CellStatus& status);

}  // namespace lra

#endif  // LRA_SUITE_TIMES_H_
