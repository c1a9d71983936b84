// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11; Random123), and distributions
// of our own, since the standard library's differ between vendors. What is drawn depends on the key
// and the counter only, never on threads, order or machine. First outputs are pinned in
// lra/random_test.cc.
//
//   RandomStream stream(seed, {kInitialWeights, index, attempt});
//   uint32_t digit = stream.Below(10);
//
// Seeds have 32 bits: the key is (seed, domain), so streams of different domains never overlap.
#ifndef LRA_RANDOM_H_
#define LRA_RANDOM_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace lra {

// What a stream is for: the second word of the key. Numbers are part of the data formats; never
// reuse one.
enum class RandomDomain : uint32_t {
  kListOpsTree = 1,
  kInitialWeights = 2,
  kDropout = 3,
  kExampleOrder = 4,
  kPathfinder = 5,
  kHoldout = 6,
  kSample = 7,
  kAttentionNoise = 8,
  kHiddenTokens = 9,
  kTest = 1000,
};

// One Philox4x32-10 block.
std::array<uint32_t, 4> Philox(const std::array<uint32_t, 4>& counter,
                               const std::array<uint32_t, 2>& key);

// A sequence of draws: counter = (block, id[0], id[1], id[2]), block = 0, 1, 2, ... Copyable, not
// thread-safe (make one per unit of work).
class RandomStream {
 public:
  RandomStream(uint32_t seed, RandomDomain domain, std::array<uint32_t, 3> id);

  uint32_t Next32() {
    if (used_ == 4) Refill();
    return block_[used_++];
  }
  // Low word first.
  uint64_t Next64();
  // Uniform integer in [0, bound), unbiased (Lemire's multiplication with rejection). bound >= 1.
  uint32_t Below(uint32_t bound);
  // Uniform integer in [low, high].
  int64_t Between(int64_t low, int64_t high);
  // Uniform in [0, 1) on the grid 2^-53.
  double Uniform();
  // Standard normal, Box-Muller on two Uniform() draws; its last bits depend on libm.
  double Normal();

 private:
  void Refill();
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_;
  int used_ = 4;
};

// First 64 bits (little endian) of the SHA-256 of a name: keys streams by name.
uint64_t HashName(absl::string_view name);

// Fisher-Yates permutation of 0 .. n-1.
std::vector<int64_t> Permutation(int64_t n, RandomStream stream);

}  // namespace lra

#endif  // LRA_RANDOM_H_
