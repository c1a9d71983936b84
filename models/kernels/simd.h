// One body, three instruction sets, chosen at run time. A body is written as plain loops that GCC
// vectorises:
//
//   inline LRA_ALWAYS_INLINE void ScaleBody(const float* x, int64_t n, float* out) { ... }
//   LRA_MULTIVERSION(Scale, (const float* x, int64_t n, float* out), (x, n, out))
//
// defines Scale(), which runs ScaleBody() compiled for the best set that the machine has (baseline,
// AVX2 with FMA, AVX-512). The project builds without contraction into fused multiply-adds, so
// elementwise bodies give the same bits on all. LRA_MULTIVERSION_BY_LEVEL() is the same for a body
// that is a template over the level, where it needs to know how many registers there are.
#ifndef LRA_MODELS_KERNELS_SIMD_H_
#define LRA_MODELS_KERNELS_SIMD_H_

#include <vector>

namespace lra {

enum class SimdLevel { kBaseline, kAvx2, kAvx512 };

// The levels of this machine, ascending; never empty.
std::vector<SimdLevel> AvailableSimdLevels();
// The level in use: the best available one unless a test says otherwise.
SimdLevel ActiveSimdLevel();
// "baseline", "avx2", "avx512": the kernel path that a run record names.
const char* SimdLevelName(SimdLevel level);

// Tests run every path. Process-wide; not for concurrent use.
class ScopedSimdLevel {
 public:
  explicit ScopedSimdLevel(SimdLevel level);
  ~ScopedSimdLevel();
  ScopedSimdLevel(const ScopedSimdLevel&) = delete;

 private:
  SimdLevel previous_;
};

}  // namespace lra

#define LRA_ALWAYS_INLINE __attribute__((always_inline))

#if defined(__x86_64__)
#define LRA_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define LRA_TARGET_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#define LRA_MULTIVERSION_DISPATCH(name, signature, arguments, avx512_body, avx2_body, body) \
  static LRA_TARGET_AVX512 void name##Avx512 signature { avx512_body arguments; }           \
  static LRA_TARGET_AVX2 void name##Avx2 signature { avx2_body arguments; }                 \
  static void name##Baseline signature { body arguments; }                                  \
  void name signature {                                                                     \
    switch (ActiveSimdLevel()) {                                                            \
      case SimdLevel::kAvx512:                                                              \
        return name##Avx512 arguments;                                                      \
      case SimdLevel::kAvx2:                                                                \
        return name##Avx2 arguments;                                                        \
      case SimdLevel::kBaseline:                                                            \
        return name##Baseline arguments;                                                    \
    }                                                                                       \
  }
#define LRA_MULTIVERSION(name, signature, arguments) \
  LRA_MULTIVERSION_DISPATCH(name, signature, arguments, name##Body, name##Body, name##Body)
#define LRA_MULTIVERSION_BY_LEVEL(name, signature, arguments)                           \
  LRA_MULTIVERSION_DISPATCH(name, signature, arguments, name##Body<SimdLevel::kAvx512>, \
                            name##Body<SimdLevel::kAvx2>, name##Body<SimdLevel::kBaseline>)
#else
#define LRA_MULTIVERSION(name, signature, arguments) \
  void name signature { name##Body arguments; }
#define LRA_MULTIVERSION_BY_LEVEL(name, signature, arguments) \
  void name signature { name##Body<SimdLevel::kBaseline> arguments; }
#endif

#endif  // LRA_MODELS_KERNELS_SIMD_H_
