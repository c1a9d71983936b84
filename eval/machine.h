// Where and with what a run was made: the volatile parts of a record.
#ifndef LRA_EVAL_MACHINE_H_
#define LRA_EVAL_MACHINE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "eval/run_record.pb.h"

namespace lra {

// Where a suite pins its workers each to some of its cores (`lra run --pin-workers`), this
// environment variable says to them how many it has.
inline constexpr char kSuiteCores[] = "LRA_SUITE_CORES";

// Processor model, cores that this process may use (or the suite that pinned it: pinned or not, a
// run names the same machine), memory, operating system. What cannot be found stays empty;
// cpu_capability (LibTorch's instruction set) and kernels are the caller's to fill.
Machine DescribeMachine();

// Memory that this process may use: the machine's, or less where a control group (a container, a
// batch job) sets a limit. 0 where the system does not tell. `root` stands for "/".
int64_t MemoryLimitBytes(absl::string_view root = "");

// Memory that is free for this process: MemAvailable of /proc/meminfo, at most MemoryLimitBytes().
int64_t AvailableMemoryBytes();

// Largest resident memory of this process so far (VmHWM of /proc/self/status); 0 where the system
// does not tell.
int64_t PeakMemoryBytes();

// Seconds since 1970 by the system's clock.
int64_t UnixSeconds();

// The commit that the program was built from, "-dirty" behind it if files had changed since; empty
// unless main() sets it. A note for people: no fingerprint depends on it.
std::string& ProgramCommit();

// This program's version and commit, the compiler. `libtorch` is what the caller links, empty for
// programs without it.
Versions RunVersions(absl::string_view libtorch);

}  // namespace lra

#endif  // LRA_EVAL_MACHINE_H_
