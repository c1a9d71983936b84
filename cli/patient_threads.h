// How a process's threads wait for each other.
#ifndef LRA_CLI_PATIENT_THREADS_H_
#define LRA_CLI_PATIENT_THREADS_H_

#include "absl/status/status.h"
#include "cli/command.h"

namespace lra {

// OpenMP's threads wait in a loop, unless the environment says otherwise as the program is loaded:
// on cores that other programs use, too, a step on two threads then takes longer than on one. Where
// `threads` (0 = all cores) are more than one and the environment says nothing of it, starts the
// program anew, with the same command line and OMP_WAIT_POLICY=passive, which child processes
// inherit. Returns where there is nothing to do, or no new start. To be called before anything is
// printed or written.
void WaitPatiently(int threads);

// WaitPatiently(), then StartRuntime().
absl::Status StartComputing(int threads, const CommandContext& context);

}  // namespace lra

#endif  // LRA_CLI_PATIENT_THREADS_H_
