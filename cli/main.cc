#include <cstdlib>

#include "cli/command.h"
#include "commit.h"
#include "eval/machine.h"

namespace {

// LibTorch takes its operators back one by one as a program ends: 70 ms, more than a quarter of a
// short command's time. Not beside what writes its findings as the program ends: profilers, loaded
// by one of the first two variables, and jemalloc's statistics, which the third asks for.
bool MayEndAtOnce() {
#ifdef LRA_SANITIZED  // leaks are looked for as a program ends
  return false;
#else
  for (const char* name : {"LD_PRELOAD", "CUDA_INJECTION64_PATH", "MALLOC_CONF"})
    if (std::getenv(name) != nullptr) return false;
  return true;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  lra::ProgramCommit() = LRA_COMMIT;
  const int exit_code = lra::RunProgram(argc, argv);  // after which all output is written
  if (MayEndAtOnce()) std::_Exit(exit_code);
  return exit_code;
}
