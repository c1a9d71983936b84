#include <cstdlib>

#include "cli/command.h"
#include "commit.h"
#include "eval/machine.h"

namespace {

// LibTorch takes its operators back one by one as a program ends: 70 ms, more than a quarter of a
// short command's time. Not beside a profiler, which writes what it has as the program ends and is
// loaded by one of the two variables.
bool MayEndAtOnce() {
#ifdef LRA_SANITIZED  // leaks are looked for as a program ends
  return false;
#else
  return std::getenv("LD_PRELOAD") == nullptr && std::getenv("CUDA_INJECTION64_PATH") == nullptr;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  lra::ProgramCommit() = LRA_COMMIT;
  const int exit_code = lra::RunProgram(argc, argv);  // after which all output is written
  if (MayEndAtOnce()) std::_Exit(exit_code);
  return exit_code;
}
