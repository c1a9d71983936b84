// Where n-grams of ids fall in tables of fixed size.
#ifndef LRA_TASKS_NGRAM_HASH_H_
#define LRA_TASKS_NGRAM_HASH_H_

#include <cstdint>

namespace lra {

// The finaliser of SplitMix64 (Steele et al. 2014).
inline uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace lra

#endif  // LRA_TASKS_NGRAM_HASH_H_
