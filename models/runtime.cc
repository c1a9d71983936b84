#include "models/runtime.h"

#include <ATen/Parallel.h>
#include <malloc.h>

#include "lra/parallel.h"

namespace lra {
namespace {

// A training step allocates and frees the same large buffers again and again: with glibc's defaults
// each comes fresh from the system, and touching its pages costs more than using them.
void KeepFreedMemory() {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
  constexpr int kBytes = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kBytes);
  mallopt(M_TRIM_THRESHOLD, kBytes);
#endif
}

}  // namespace

void StartRuntime(int threads) {
  KeepFreedMemory();
  at::set_num_threads(ResolveThreads(threads));
}

}  // namespace lra
