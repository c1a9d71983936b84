// Philox4x32-10 (Salmon et al. 2011) of several counters side by side; dropout_test.cc compares it
// with Random123. A word of 32 bits has a lane of 64, whose upper half is ignored, because the
// instructions that multiply 32 by 32 bits read the lower halves of such lanes.
#ifndef LRA_MODELS_KERNELS_PHILOX_LANES_H_
#define LRA_MODELS_KERNELS_PHILOX_LANES_H_

#include <cstdint>

#include "models/kernels/simd.h"

namespace lra {

template <KernelPath kPath>
struct PhiloxLanes;
template <>
struct PhiloxLanes<KernelPath::kAvx512> {
  typedef uint64_t Words __attribute__((vector_size(64)));
  typedef Words WordsInMemory __attribute__((aligned(8), may_alias));
  typedef uint16_t Halves __attribute__((vector_size(16), aligned(2), may_alias));
  static constexpr int kCount = 8;
};
template <>
struct PhiloxLanes<KernelPath::kAvx2> {
  typedef uint64_t Words __attribute__((vector_size(32)));
  typedef Words WordsInMemory __attribute__((aligned(8), may_alias));
  typedef uint16_t Halves __attribute__((vector_size(8), aligned(2), may_alias));
  static constexpr int kCount = 4;
};
template <>
struct PhiloxLanes<KernelPath::kBaseline> {
  typedef uint64_t Words __attribute__((vector_size(16)));
  typedef Words WordsInMemory __attribute__((aligned(8), may_alias));
  typedef uint16_t Halves __attribute__((vector_size(4), aligned(2), may_alias));
  static constexpr int kCount = 2;
};

// The products of the lower halves. GCC 12 makes a product of 64 by 64 bits of it, which takes
// three times as long; intrinsics cannot stand in a body that is compiled for several paths.
template <KernelPath kPath, class Words>
inline LRA_ALWAYS_INLINE Words MultiplyLow(Words a, Words b) {
#if defined(__x86_64__) && !defined(__clang__)
  Words product;
  if constexpr (kPath == KernelPath::kBaseline) {
    product = a;
    asm("pmuludq %1, %0" : "+x"(product) : "x"(b));
  } else {
    asm("vpmuludq %2, %1, %0" : "=v"(product) : "v"(a), "v"(b));
  }
  return product;
#else
  return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

// The four words of every lane's block replace its counter.
template <KernelPath kPath, class Words>
inline LRA_ALWAYS_INLINE void Philox10(uint32_t key0, uint32_t key1, Words* c0, Words* c1,
                                       Words* c2, Words* c3) {
  const Words first = Words{} + 0xD2511F53u, second = Words{} + 0xCD9E8D57u;
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const Words product0 = MultiplyLow<kPath>(*c0, first);
    const Words product1 = MultiplyLow<kPath>(*c2, second);
    *c0 = (product1 >> 32) ^ *c1 ^ uint64_t { key0 };
    *c1 = product1;
    *c2 = (product0 >> 32) ^ *c3 ^ uint64_t { key1 };
    *c3 = product0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

}  // namespace lra

#endif  // LRA_MODELS_KERNELS_PHILOX_LANES_H_
