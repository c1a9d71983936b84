// One body, three instruction sets. A body is written as plain loops that GCC vectorises:
//
//   inline LRA_ALWAYS_INLINE void ScaleBody(const float* x, int64_t n, float* out) { ... }
//   LRA_MULTIVERSION(Scale, (const float* x, int64_t n, float* out), (x, n, out))
//
// defines Scale(), which runs ScaleBody() compiled for the path of the process: AVX-512, AVX2 with
// FMA, or what every processor of the architecture has (on the generic path too, whose dropout
// masks are drawn here). The project builds without contraction into fused multiply-adds, so
// elementwise bodies give the same bits on all. LRA_MULTIVERSION_BY_PATH() is the same for a body
// that is a template over the path, where it needs to know how many registers there are.
#ifndef LRA_MODELS_KERNELS_SIMD_H_
#define LRA_MODELS_KERNELS_SIMD_H_

#include "models/base/kernel_path.h"

#define LRA_ALWAYS_INLINE __attribute__((always_inline))

// Before a loop: no iteration writes what another reads or writes. Clang takes AVX-512's whole
// width where a target has it, and ignores a target that names what it does not know.
#if defined(__clang__)
#define LRA_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define LRA_WIDEST_VECTORS ""
#else
#define LRA_INDEPENDENT _Pragma("GCC ivdep")
#define LRA_WIDEST_VECTORS ",prefer-vector-width=512"
#endif

#if defined(__x86_64__)
#define LRA_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define LRA_TARGET_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl" LRA_WIDEST_VECTORS)))
#define LRA_MULTIVERSION_DISPATCH(name, signature, arguments, avx512_body, avx2_body, body) \
  static LRA_TARGET_AVX512 void name##Avx512 signature { avx512_body arguments; }           \
  static LRA_TARGET_AVX2 void name##Avx2 signature { avx2_body arguments; }                 \
  static void name##Baseline signature { body arguments; }                                  \
  void name signature {                                                                     \
    switch (ActiveKernelPath()) {                                                           \
      case KernelPath::kAmx:                                                                \
      case KernelPath::kAvx512:                                                             \
        return name##Avx512 arguments;                                                      \
      case KernelPath::kAvx2:                                                               \
        return name##Avx2 arguments;                                                        \
      case KernelPath::kBaseline:                                                           \
      case KernelPath::kGeneric:                                                            \
        return name##Baseline arguments;                                                    \
    }                                                                                       \
  }
#define LRA_MULTIVERSION(name, signature, arguments) \
  LRA_MULTIVERSION_DISPATCH(name, signature, arguments, name##Body, name##Body, name##Body)
#define LRA_MULTIVERSION_BY_PATH(name, signature, arguments)                             \
  LRA_MULTIVERSION_DISPATCH(name, signature, arguments, name##Body<KernelPath::kAvx512>, \
                            name##Body<KernelPath::kAvx2>, name##Body<KernelPath::kBaseline>)
#else
#define LRA_MULTIVERSION(name, signature, arguments) \
  void name signature { name##Body arguments; }
#define LRA_MULTIVERSION_BY_PATH(name, signature, arguments) \
  void name signature { name##Body<KernelPath::kBaseline> arguments; }
#endif

#endif  // LRA_MODELS_KERNELS_SIMD_H_
