#include "models/kernels/simd.h"

namespace lra {
namespace {

SimdLevel& Active() {
  static SimdLevel active = AvailableSimdLevels().back();
  return active;
}

}  // namespace

std::vector<SimdLevel> AvailableSimdLevels() {
  std::vector<SimdLevel> levels = {SimdLevel::kBaseline};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return levels;
  levels.push_back(SimdLevel::kAvx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    levels.push_back(SimdLevel::kAvx512);
  }
#endif
  return levels;
}

SimdLevel ActiveSimdLevel() { return Active(); }

const char* SimdLevelName(SimdLevel level) {
  switch (level) {
    case SimdLevel::kAvx512:
      return "avx512";
    case SimdLevel::kAvx2:
      return "avx2";
    case SimdLevel::kBaseline:
      return "baseline";
  }
  return "unknown";
}

ScopedSimdLevel::ScopedSimdLevel(SimdLevel level) : previous_(Active()) { Active() = level; }
ScopedSimdLevel::~ScopedSimdLevel() { Active() = previous_; }

}  // namespace lra
