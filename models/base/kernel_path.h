// The code that the kernels of this process run: compositions of LibTorch's operations, or tiles
// for one of the processor's instruction sets. It is decided once, before the first kernel runs;
// models/kernels/dispatch.h then decides for each call whether it can take that path.
#ifndef LRA_MODELS_BASE_KERNEL_PATH_H_
#define LRA_MODELS_BASE_KERNEL_PATH_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

enum class KernelPath {
  kGeneric,   // LibTorch's operations: every device and type
  kBaseline,  // tiles, for any processor of this architecture
  kAvx2,      // tiles, AVX2 with FMA
  kAvx512,    // tiles, AVX-512 F, BW, DQ and VL
  kAmx,       // those, whose products in bfloat16 are AMX's; needs AVX512-BF16, too
};

// Returns "generic", "baseline", "avx2", "avx512" or "amx", the names in flags, $LRA_KERNELS and
// records.
const char* KernelPathName(KernelPath path);

// Return every path, and those that this machine can run, from the slowest to the fastest.
std::vector<KernelPath> AllKernelPaths();
std::vector<KernelPath> AvailableKernelPaths();

// Forces a path for the whole process: the one called `name`; where that is empty, the one that
// $LRA_KERNELS names; where that is empty too, the best available path. LibTorch, MKL and oneDNN
// are asked for the same instructions, unless the environment already says which they shall use.
// They listen only before their first operation. Returns InvalidArgument for a name that does not
// exist and for a path that this machine lacks.
absl::Status ForceKernelPath(absl::string_view name);

// Returns the path in use. Where nothing was forced, the first call reads $LRA_KERNELS; a wrong
// value ends the process, because it must not be replaced silently.
KernelPath ActiveKernelPath();

// Another path while it lives, for tests. It holds for the whole process and is not for concurrent
// use; LibTorch's own choice stays as it is.
class ScopedKernelPath {
 public:
  explicit ScopedKernelPath(KernelPath path);
  ~ScopedKernelPath();
  ScopedKernelPath(const ScopedKernelPath&) = delete;
  ScopedKernelPath& operator=(const ScopedKernelPath&) = delete;

 private:
  KernelPath previous_;
};

namespace internal {

// Returns the path of this name if it is one of `available`. Errors begin with `source`, which says
// where the name was found.
absl::StatusOr<KernelPath> ParseKernelPath(absl::string_view name, absl::string_view source,
                                           const std::vector<KernelPath>& available);

}  // namespace internal
}  // namespace lra

#endif  // LRA_MODELS_BASE_KERNEL_PATH_H_
