#include "models/base/kernel_path.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lra/check.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr char kVariable[] = "LRA_KERNELS";

#if defined(__x86_64__)
// Linux hands out the registers of AMX on request, for the whole process.
bool GetsTileRegisters() {
#if defined(__linux__)
  constexpr int64_t kRequestPermission = 0x1023, kTileData = 18;
  static const bool is_granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return is_granted;
#else
  return false;
#endif
}

// Clang 14's __builtin_cpu_supports() has no names for these.
bool HasAmx() {
  constexpr unsigned kAmxBfloat16 = 1u << 22, kAmxTile = 1u << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAmxBfloat16) != 0 &&
         (d & kAmxTile) != 0 && GetsTileRegisters();
}
#endif

bool IsAvailable(KernelPath path) {
  switch (path) {
    case KernelPath::kGeneric:
    case KernelPath::kBaseline:
      return true;
#if defined(__x86_64__)
    case KernelPath::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case KernelPath::kAvx512:
      return IsAvailable(KernelPath::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    case KernelPath::kAmx:
      return IsAvailable(KernelPath::kAvx512) && __builtin_cpu_supports("avx512bf16") && HasAmx();
#else
    case KernelPath::kAvx2:
    case KernelPath::kAvx512:
    case KernelPath::kAmx:
      return false;
#endif
  }
  return false;
}

std::string Names(const std::vector<KernelPath>& paths) {
  return absl::StrJoin(paths, ", ", [](std::string* out, KernelPath path) {
    absl::StrAppend(out, KernelPathName(path));
  });
}

absl::StatusOr<KernelPath> PathOfEnvironment() {
  const char* value = std::getenv(kVariable);
  if (value == nullptr || *value == 0) return AvailableKernelPaths().back();
  return internal::ParseKernelPath(value, absl::StrCat("$", kVariable), AvailableKernelPaths());
}

// A KernelPath, or kUndecided until the first call.
constexpr int kUndecided = -1;
constinit std::atomic<int> active = kUndecided;

void Set(KernelPath path) { active.store(static_cast<int>(path), std::memory_order_relaxed); }

// The same instructions for LibTorch's own loops, for MKL and for oneDNN. AVX-512 is what they take
// by themselves where the machine has it, oneDNN also AMX, and the generic path is meant to be as
// fast as they are.
void ForceLibraries(KernelPath path) {
  const auto set = [](const char* variable, const char* value) {
    setenv(variable, value, /*overwrite=*/0);
  };
  if (path == KernelPath::kAvx2) {
    set("ATEN_CPU_CAPABILITY", "avx2");
    set("MKL_ENABLE_INSTRUCTIONS", "AVX2");
    set("ONEDNN_MAX_CPU_ISA", "AVX2");
  } else if (path == KernelPath::kBaseline) {
    set("ATEN_CPU_CAPABILITY", "default");
    set("MKL_ENABLE_INSTRUCTIONS", "SSE4_2");
    set("ONEDNN_MAX_CPU_ISA", "SSE41");
  } else if (path == KernelPath::kAvx512) {
    set("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16");
  }
}

}  // namespace

const char* KernelPathName(KernelPath path) {
  switch (path) {
    case KernelPath::kGeneric:
      return "generic";
    case KernelPath::kBaseline:
      return "baseline";
    case KernelPath::kAvx2:
      return "avx2";
    case KernelPath::kAvx512:
      return "avx512";
    case KernelPath::kAmx:
      return "amx";
  }
  return "unknown";
}

std::vector<KernelPath> AllKernelPaths() {
  return {KernelPath::kGeneric, KernelPath::kBaseline, KernelPath::kAvx2, KernelPath::kAvx512,
          KernelPath::kAmx};
}

std::vector<KernelPath> AvailableKernelPaths() {
  std::vector<KernelPath> paths = AllKernelPaths();
  std::erase_if(paths, [](KernelPath path) { return !IsAvailable(path); });
  return paths;
}

absl::Status ForceKernelPath(absl::string_view name) {
  const std::vector<KernelPath> available = AvailableKernelPaths();
  LRA_ASSIGN_OR_RETURN(
      const KernelPath path,
      name.empty() ? PathOfEnvironment() : internal::ParseKernelPath(name, "--kernels", available));
  if (path != available.back()) ForceLibraries(path);
  Set(path);
  return absl::OkStatus();
}

KernelPath ActiveKernelPath() {
  const int decided = active.load(std::memory_order_relaxed);
  if (decided != kUndecided) [[likely]]
    return static_cast<KernelPath>(decided);
  const absl::StatusOr<KernelPath> path = PathOfEnvironment();
  LRA_CHECK(path.ok()) << path.status().message();
  Set(*path);
  return *path;
}

ScopedKernelPath::ScopedKernelPath(KernelPath path) : previous_(ActiveKernelPath()) { Set(path); }
ScopedKernelPath::~ScopedKernelPath() { Set(previous_); }

namespace internal {

absl::StatusOr<KernelPath> ParseKernelPath(absl::string_view name, absl::string_view source,
                                           const std::vector<KernelPath>& available) {
  for (const KernelPath path : AllKernelPaths()) {
    if (name != KernelPathName(path)) continue;
    if (std::find(available.begin(), available.end(), path) != available.end()) return path;
    return absl::InvalidArgumentError(absl::StrCat(source, ": this machine lacks the instructions ",
                                                   "of \"", name, "\"; it can run ",
                                                   Names(available)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(source, ": is \"", name, "\", must be one of ", Names(AllKernelPaths())));
}

}  // namespace internal

}  // namespace lra
