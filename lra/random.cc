#include "lra/random.h"

#include <Random123/philox.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <utility>

#include "lra/check.h"
#include "lra/sha256.h"

namespace lra {
namespace {

constexpr uint32_t kNamedBit = 1 << 4;

// The low byte is the domain's in every key of the models: see models/kernels/dropout.h.
constexpr bool IsApartFromNames(RandomDomain domain) {
  return (static_cast<uint32_t>(domain) & kNamedBit) == 0;
}
static_assert(IsApartFromNames(RandomDomain::kInitialWeights) &&
              IsApartFromNames(RandomDomain::kDropout) &&
              IsApartFromNames(RandomDomain::kExampleOrder) &&
              IsApartFromNames(RandomDomain::kHoldout) && IsApartFromNames(RandomDomain::kSample) &&
              IsApartFromNames(RandomDomain::kAttentionNoise) &&
              IsApartFromNames(RandomDomain::kHiddenTokens) &&
              IsApartFromNames(RandomDomain::kPretrainOrder) &&
              IsApartFromNames(RandomDomain::kTest));

// Tasks whose canonical data is older than the names. This list is closed.
uint32_t NumberOf(absl::string_view name) {
  if (name == "listops") return 1;
  if (name == "pathfinder") return 5;
  return static_cast<uint32_t>(HashName(name)) | kNamedBit;
}

}  // namespace

RandomDomain::RandomDomain(absl::string_view name) : number_(NumberOf(name)) {}

std::array<uint32_t, 4> Philox(const std::array<uint32_t, 4>& counter,
                               const std::array<uint32_t, 2>& key) {
  const r123::Philox4x32::ctr_type in = {{counter[0], counter[1], counter[2], counter[3]}};
  const r123::Philox4x32::key_type k = {{key[0], key[1]}};
  const r123::Philox4x32::ctr_type out = r123::Philox4x32()(in, k);
  return {out[0], out[1], out[2], out[3]};
}

RandomStream::RandomStream(uint32_t seed, RandomDomain domain, std::array<uint32_t, 3> id)
    : key_{seed, static_cast<uint32_t>(domain)}, counter_{0, id[0], id[1], id[2]} {}

void RandomStream::Refill() {
  block_ = Philox(counter_, key_);
  ++counter_[0];
  LRA_CHECK(counter_[0] != 0) << "a random stream was drawn dry";
  used_ = 0;
}

uint64_t RandomStream::Next64() {
  const uint64_t low = Next32();
  return low | (static_cast<uint64_t>(Next32()) << 32);
}

uint32_t RandomStream::Below(uint32_t bound) {
  LRA_CHECK(bound > 0);
  uint64_t product = static_cast<uint64_t>(Next32()) * bound;
  if (static_cast<uint32_t>(product) < bound) {
    const uint32_t threshold = -bound % bound;
    while (static_cast<uint32_t>(product) < threshold) {
      product = static_cast<uint64_t>(Next32()) * bound;
    }
  }
  return static_cast<uint32_t>(product >> 32);
}

int64_t RandomStream::Between(int64_t low, int64_t high) {
  LRA_CHECK(low <= high && high - low < 0xffffffffLL);
  return low + Below(static_cast<uint32_t>(high - low + 1));
}

double RandomStream::Uniform() { return static_cast<double>(Next64() >> 11) * 0x1.0p-53; }

double RandomStream::Normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-Uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * Uniform());
}

uint64_t HashName(absl::string_view name) {
  const Sha256Digest digest = Sha256Of(name);
  uint64_t hash = 0;
  for (int i = 7; i >= 0; --i) hash = (hash << 8) | digest[i];
  return hash;
}

std::vector<int64_t> Permutation(int64_t n, RandomStream stream) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[stream.Between(0, i)]);
  return order;
}

}  // namespace lra
