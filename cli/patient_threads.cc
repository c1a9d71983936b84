#include "cli/patient_threads.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "lra/parallel.h"

namespace lra {

void WaitPatiently(int threads, const CommandContext& context) {
  for (const char* said : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    if (getenv(said) != nullptr) return;
  if (ResolveThreads(threads) < 2) return;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/1);
  execv(program.c_str(), context.arguments);
}

}  // namespace lra
