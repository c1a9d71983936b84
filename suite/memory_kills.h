// What the system says of processes that it killed for want of memory: they get SIGKILL, as from
// anybody, and only a counter tells these kills from others.
#ifndef LRA_SUITE_MEMORY_KILLS_H_
#define LRA_SUITE_MEMORY_KILLS_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace lra {

// How many processes of this one's control group (a batch job, a container) were killed so by now,
// or of the nearest group around it that counts; 0 where none does. It has grown before the process
// ends. `root` stands for "/".
int64_t MemoryKills(absl::string_view root = "");

// The memory of the Slurm job that this process belongs to, as Slurm told its script; 0 outside a
// job, and in one that may use all of its node's.
int64_t JobMemoryBytes();

}  // namespace lra

#endif  // LRA_SUITE_MEMORY_KILLS_H_
