// Other programs, run to their end. A benchmark measures every cell in a fresh process, so that
// memory, threads and kernels of one do not reach the next, and one that runs out of memory ends
// only itself.
#ifndef LRA_CHILD_H_
#define LRA_CHILD_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace lra {

struct ChildCommand {
  std::vector<std::string> words;  // program and arguments; the program is looked up in $PATH
  // Variables set beside those of this process.
  std::vector<std::pair<std::string, std::string>> environment;
  // Variables of this process that it does not get; "SQUEUE_*" are all that begin so.
  std::vector<std::string> without;
};

struct ChildOutcome {
  int exit_code = 0;  // where `signal` is 0
  int signal = 0;     // that ended it
  std::string output, errors;
  double wall_seconds = 0, cpu_seconds = 0;
  int64_t peak_resident_bytes = 0;
};

// Waits for the end of the program. NotFound where it cannot be started.
absl::StatusOr<ChildOutcome> RunChild(const ChildCommand& command);

// The program that runs now, as a path.
std::string ThisProgram();

}  // namespace lra

#endif  // LRA_CHILD_H_
