#include "datasets/half.h"

#include <bit>

namespace lra {
namespace {

constexpr int kDroppedBits = 23 - 10;                     // of float's significand
constexpr uint32_t kBiasDifference = (127u - 15u) << 23;  // between the exponents of both types
constexpr uint32_t kFloatInfinity = 0x7f800000, kHalfInfinity = 0x7c00, kHalfNan = 0x7e00;
constexpr uint16_t kSign = 0x8000;

// The bits of |value|, which is neither infinite nor NaN, rounded to binary16.
uint32_t RoundedBits(uint32_t magnitude) {
  constexpr float kLeastNormal = 0x1p-14f, kBeyond = 0x1p16f;
  const float value = std::bit_cast<float>(magnitude);
  if (value >= kBeyond) return kHalfInfinity;
  // Numbers from 1/2 to 1 are multiples of 2^-24, which is the least binary16: the sum rounds.
  if (value < kLeastNormal) return std::bit_cast<uint32_t>(value + 0.5f) - 0x3f000000;
  const uint32_t is_odd = magnitude >> kDroppedBits & 1;
  const uint32_t almost_half = (1u << (kDroppedBits - 1)) - 1;
  return (magnitude + almost_half + is_odd - kBiasDifference) >> kDroppedBits;
}

}  // namespace

Half Half::Nearest(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & kSign, magnitude = bits & 0x7fffffff;
  uint32_t rounded = kHalfNan;
  if (magnitude <= kFloatInfinity)
    rounded = magnitude == kFloatInfinity ? kHalfInfinity : RoundedBits(magnitude);
  return Half{static_cast<uint16_t>(sign | rounded)};
}

Half::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & kSign) << 16, magnitude = bits & 0x7fff;
  if (magnitude < 0x400) {
    const auto value = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    return std::bit_cast<float>(sign | value);
  }
  const uint32_t shifted = magnitude << kDroppedBits;
  if (magnitude >= kHalfInfinity) return std::bit_cast<float>(sign | kFloatInfinity | shifted);
  return std::bit_cast<float>(sign | (shifted + kBiasDifference));
}

Half NextBelow(Half value) {
  if ((value.bits & ~kSign) == 0)
    return Half{static_cast<uint16_t>(kSign | 1)};  // below both zeros
  return Half{static_cast<uint16_t>(value.bits & kSign ? value.bits + 1 : value.bits - 1)};
}

}  // namespace lra
