// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11; Random123), with our own
// distributions, because those of the standard library differ between vendors. A draw depends on
// key and counter only, never on threads, order or machine. The first outputs are pinned in
// lra/random_test.cc.
//
//   const RandomDomain domain("parity");
//   RandomStream stream(seed, domain, {attempt, index, split});
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

// What a stream is for: the second word of its key. A task or an attention takes the domain of its
// own name, so that a new one is written down nowhere else. The numbers are part of the data
// formats and of every trained result: a name must not change once something was drawn under it.
class RandomDomain {
 public:
  // The number follows from the name alone: the low half of HashName(name), with bit 4 set. That
  // bit is clear in every number given out by hand, and in the keys (site << 8 | kDropout, or
  // kAttentionNoise) of the models' dropout and noise, so a name can meet none of them. "listops"
  // and "pathfinder" keep the numbers that they had before domains had names.
  explicit RandomDomain(absl::string_view name);

  static const RandomDomain kInitialWeights, kDropout, kExampleOrder, kHoldout, kSample,
      kAttentionNoise, kHiddenTokens, kPretrainOrder, kTest;

  // One of 2^24 places in a model that draw apart from each other (models/kernels/dropout.h). This
  // is for domains given out by hand, whose numbers below 256 leave the upper bits free.
  constexpr RandomDomain AtSite(uint32_t site) const { return RandomDomain(site << 8 | number_); }
  constexpr explicit operator uint32_t() const { return number_; }

 private:
  constexpr explicit RandomDomain(uint32_t number) : number_(number) {}
  uint32_t number_;
};

inline constexpr RandomDomain RandomDomain::kInitialWeights{2};
inline constexpr RandomDomain RandomDomain::kDropout{3};
inline constexpr RandomDomain RandomDomain::kExampleOrder{4};
inline constexpr RandomDomain RandomDomain::kHoldout{6};
inline constexpr RandomDomain RandomDomain::kSample{7};
inline constexpr RandomDomain RandomDomain::kAttentionNoise{8};
inline constexpr RandomDomain RandomDomain::kHiddenTokens{9};
inline constexpr RandomDomain RandomDomain::kPretrainOrder{10};
inline constexpr RandomDomain RandomDomain::kTest{1000};

// One Philox4x32-10 block.
std::array<uint32_t, 4> Philox(const std::array<uint32_t, 4>& counter,
                               const std::array<uint32_t, 2>& key);

// A sequence of draws with counter = (block, id[0], id[1], id[2]), block = 0, 1, 2, ... Copyable;
// not thread-safe, so make one for each unit of work.
class RandomStream {
 public:
  RandomStream(uint32_t seed, RandomDomain domain, std::array<uint32_t, 3> id);

  uint32_t Next32() {
    if (used_ == 4) Refill();
    return block_[used_++];
  }
  // The next 64 bits; the low word is drawn first.
  uint64_t Next64();
  // Uniform integer in [0, bound), unbiased (Lemire's multiplication with rejection). bound >= 1.
  uint32_t Below(uint32_t bound);
  // Uniform integer in [low, high].
  int64_t Between(int64_t low, int64_t high);
  // Uniform in [0, 1) on the grid 2^-53.
  double Uniform();
  // Standard normal by Box-Muller from two Uniform() draws; the last bits depend on libm.
  double Normal();

 private:
  void Refill();
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_;
  int used_ = 4;
};

// The first 64 bits (little-endian) of the SHA-256 of a name, to key a stream by a name.
uint64_t HashName(absl::string_view name);

// A random permutation of 0 .. n-1 (Fisher-Yates).
std::vector<int64_t> Permutation(int64_t n, RandomStream stream);

}  // namespace lra

#endif  // LRA_RANDOM_H_
